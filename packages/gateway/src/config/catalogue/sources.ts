import type { CatalogueData } from "./schema.ts";

/** Where the facts of the shipped catalogue are from, and when they were read. */
export const SOURCES: CatalogueData["sources"] = {
  book: { url: "https://github.com/pydantic/genai-prices", read: "2026-11-30" },
  "models.dev": { url: "https://github.com/anomalyco/models.dev", read: "2026-11-30" },
  "gemini-list": { url: "https://github.com/simonw/llm-gemini (GET /v1beta/models, recorded)", read: "2026-11-30" },
  "gemini-deprecations": { url: "https://ai.google.dev/gemini-api/docs/deprecations", read: "2026-11-30" },
  "gemini-2.5-end": {
    url: "https://dev.to/aideprecations/what-to-do-before-gemini-25-pro-and-25-flash-are-retired-on-december-1-2026-5gg9",
    read: "2026-11-30",
  },
  "openai-deprecations": { url: "https://developers.openai.com/api/docs/deprecations", read: "2026-11-30" },
  "openai-ends": {
    url: "https://dev.to/max_bob/openai-api-deprecations-2026-2027-every-shutdown-date-and-recommended-replacement-gpt-4o-2ffm",
    read: "2026-11-30",
  },
  "openai-reasoning": { url: "https://github.com/vercel/ai/issues/10932", read: "2026-11-30" },
  "claude-deprecations": {
    url: "https://platform.claude.com/docs/en/about-claude/model-deprecations",
    read: "2026-11-30",
  },
  "claude-sonnet-4-5": { url: "https://platform.claude.com/docs/en/models/sonnet-4-5/overview", read: "2026-11-30" },
  modelpin: { url: "https://github.com/samarthputhraya/Modelpin (data/models.json, 0.5.7)", read: "2026-11-30" },
};
