import type { Retirement } from "./schema.ts";

/**
 * Days on which vendors end models, each on the vendor's own platform: the same model elsewhere (Azure, Bedrock, Vertex) ends
 * when that platform says. Dates that are only the earliest possible ones are not in it.
 */
export const RETIREMENTS: Retirement[] = [
  {
    on: "openai",
    names: ["gpt-3.5-turbo-instruct", "gpt-3.5-turbo-1106", "babbage-002", "davinci-002"],
    date: "2026-09-28",
    announced: "2025-09-26",
    source: "modelpin",
  },
  {
    on: "openai",
    names: [
      ...["gpt-3.5-turbo", "gpt-3.5-turbo-0125", "gpt-4", "gpt-4-0613", "gpt-4-1106-preview"],
      ...["gpt-4-turbo", "gpt-4-turbo-2024-04-09", "gpt-4.1-nano", "gpt-4.1-nano-2025-04-14", "gpt-4o-2024-05-13"],
      ...["o1", "o1-2024-12-17", "o1-pro", "o1-pro-2025-03-19", "o3-mini", "o3-mini-2025-01-31"],
      ...["o4-mini", "o4-mini-2025-04-16", "gpt-image-1"],
    ],
    date: "2026-10-23",
    announced: "2026-04-22",
    source: "modelpin",
  },
  {
    on: "openai",
    names: ["gpt-image-1-mini", "gpt-image-1.5", "gpt-image-1.5-2025-12-16", "chatgpt-image-latest"],
    date: "2026-12-01",
    announced: "2026-06-02",
    source: "openai-deprecations",
  },
  {
    on: "openai",
    names: [
      ...["gpt-5", "gpt-5-2025-08-07", "gpt-5-mini", "gpt-5-mini-2025-08-07", "gpt-5-nano", "gpt-5-nano-2025-08-07"],
      ...["gpt-5-pro", "gpt-5-pro-2025-10-06", "o3", "o3-2025-04-16", "o3-pro", "o3-pro-2025-06-10"],
    ],
    date: "2026-12-11",
    announced: "2026-06-11",
    source: "openai-deprecations",
  },
  {
    on: "openai",
    names: ["tts-1", "tts-1-hd", "gpt-4o-mini-tts"],
    date: "2027-01-06",
    source: "openai-ends",
  },
  {
    on: "openai",
    names: [
      ...["gpt-4o-2024-08-06", "gpt-4o-2024-11-20", "gpt-4o-mini-2024-07-18"],
      ...["gpt-4.1-2025-04-14", "gpt-4.1-mini-2025-04-14"],
    ],
    date: "2027-01-14",
    announced: "2026-10-14",
    source: "openai-ends",
  },
  {
    on: "openai",
    names: ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe", "gpt-4o-transcribe-diarize"],
    date: "2027-02-26",
    source: "openai-ends",
  },
  {
    on: "openai",
    names: ["gpt-5.1", "gpt-5.1-2025-11-13", "gpt-5.3-codex", "gpt-5.4-nano", "gpt-5.4-nano-2026-03-17"],
    date: "2027-04-01",
    announced: "2026-10-01",
    source: "modelpin",
  },
  {
    on: "anthropic",
    names: ["claude-3-opus-20240229"],
    date: "2026-01-05",
    announced: "2025-06-30",
    source: "claude-deprecations",
  },
  {
    on: "anthropic",
    names: ["claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022", "claude-3-5-sonnet-latest"],
    date: "2025-10-28",
    announced: "2025-08-13",
    source: "claude-deprecations",
  },
  {
    on: "anthropic",
    names: ["claude-3-7-sonnet-20250219", "claude-3-7-sonnet-latest"],
    date: "2026-02-19",
    announced: "2025-10-28",
    source: "claude-deprecations",
  },
  {
    on: "anthropic",
    names: ["claude-3-5-haiku-20241022", "claude-3-5-haiku-latest"],
    date: "2026-02-19",
    announced: "2025-12-19",
    source: "claude-deprecations",
  },
  {
    on: "anthropic",
    names: ["claude-sonnet-4-20250514", "claude-sonnet-4-0", "claude-opus-4-20250514", "claude-opus-4-0"],
    date: "2026-06-15",
    announced: "2026-04-14",
    source: "modelpin",
  },
  {
    on: "anthropic",
    names: ["claude-opus-4-1-20250805", "claude-opus-4-1"],
    date: "2026-08-05",
    announced: "2026-06-05",
    source: "modelpin",
  },
  {
    on: "anthropic",
    names: ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
    date: "2026-11-30",
    source: "claude-sonnet-4-5",
  },
  {
    on: "anthropic",
    names: ["claude-opus-4-5-20251101", "claude-opus-4-5"],
    date: "2027-01-22",
    announced: "2026-11-23",
    source: "modelpin",
  },
  {
    on: "vertex",
    names: ["claude-opus-4-5-20251101", "claude-opus-4-5"],
    date: "2027-01-22",
    source: "modelpin",
  },
  { on: "gemini", names: ["gemini-2.0-flash*"], date: "2026-06-01", source: "gemini-deprecations" },
  { on: "gemini", names: ["gemini-3-pro-preview"], date: "2026-03-09", source: "gemini-deprecations" },
  { on: "gemini", names: ["gemini-3.1-flash-lite-preview"], date: "2026-05-25", source: "gemini-deprecations" },
  { on: "gemini", names: ["gemini-2.5-pro", "gemini-2.5-flash"], date: "2026-12-01", source: "gemini-2.5-end" },
  { on: "vertex", names: ["gemini-2.0-flash*"], date: "2026-06-01", source: "modelpin" },
  {
    on: "vertex",
    names: ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"],
    date: "2026-10-20",
    source: "modelpin",
  },
  { on: "vertex", names: ["gemini-3.6-flash"], date: "2027-01-28", source: "modelpin" },
];
