import { expect, test } from "vitest";
import type { ProviderConfig } from "../config/snapshot.ts";
import { hasDrifted } from "./model-drift.ts";

const provider = (kind: ProviderConfig["kind"], preset: string | null = null): ProviderConfig =>
  ({ kind, preset }) as ProviderConfig;

test.each<[ProviderConfig, string, string | null, boolean]>([
  [provider("openai"), "gpt-4o-2024-11-20", "gpt-4o-2024-11-20", false],
  [provider("openai"), "gpt-4o-2024-11-20", "gpt-4o-2024-08-06", true],
  [provider("openai"), "gpt-4o-2024-11-20", null, false],
  [provider("openai"), "gpt-4o-2024-11-20", "", false],
  // A name that may move pins nothing.
  [provider("openai"), "gpt-4o", "gpt-4o-2024-08-06", false],
  [provider("openai"), "gpt-4o", "gpt-5-2025-08-07", false],
  [provider("anthropic"), "claude-haiku-4-5", "claude-haiku-4-5-20251001", false],
  [provider("anthropic"), "claude-sonnet-4-5-20250929", "claude-sonnet-5", true],
  [provider("azure-openai"), "gpt-4o-2024-11-20", "gpt-4o", false],
  [provider("azure-openai"), "gpt-4o-2024-08-06", "gpt-4o-2024-11-20", true],
  [provider("bedrock"), "us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5-20251001", false],
  [provider("gemini"), "models/gemini-2.5-pro", "gemini-3.8-flash", true],
  [provider("openai-compatible", "openrouter"), "openai/gpt-4o-2024-11-20", "gpt-4o-2024-11-20", false],
  [provider("openai-compatible", "vllm"), "llama-3.1-8b", "/models/other-7b", false],
])("%j %s answered by %s", (kind, pinned, answered, drifted) => {
  expect(hasDrifted(pinned, answered, kind)).toBe(drifted);
});
