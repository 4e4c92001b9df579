import type { Usage } from "@sluicegate/contract";
import { type Fields, isObject } from "../field-checks.ts";
import { tokenCount } from "../protocol.ts";

/**
 * What a package counted, normalised; undefined for nothing. In AI SDK 5 each package counts as its vendor does: Anthropic's
 * leaves what was cached out of the input, Google's and others leave thoughts out of the output, and then the total tells.
 */
export function usageOf(raw: unknown, metadata: unknown): Partial<Usage> | undefined {
  if (!isObject(raw)) return undefined;
  if (isObject(raw["inputTokens"])) return newerUsage(raw["inputTokens"], raw["outputTokens"]);
  const said = tokenCount(raw["inputTokens"]);
  const cached = tokenCount(raw["cachedInputTokens"]);
  const spoken = tokenCount(raw["outputTokens"]);
  const reasoning = tokenCount(raw["reasoningTokens"]);
  if (said === undefined && spoken === undefined) return undefined;
  const anthropic = isObject(metadata) && isObject(metadata["anthropic"]) ? metadata["anthropic"] : null;
  const written = anthropic ? tokenCount(anthropic["cacheCreationInputTokens"]) : undefined;
  const beside = anthropic ? (cached ?? 0) + (written ?? 0) : 0;
  const apart = (said ?? 0) + (spoken ?? 0) + (reasoning ?? 0) === tokenCount(raw["totalTokens"]);
  const output = spoken === undefined ? undefined : spoken + (apart ? (reasoning ?? 0) : 0);
  return counts({
    input_tokens: said === undefined ? undefined : said + beside,
    cached_input_tokens: cached,
    cache_write_tokens: written,
    cache_write_1h_tokens: anthropic ? longWrites(anthropic["usage"]) : undefined,
    output_tokens: output,
    reasoning_tokens: reasoning === undefined ? undefined : Math.min(reasoning, output ?? reasoning),
  });
}

/** AI SDK 6 says which part is which. */
function newerUsage(input: Fields, said: unknown): Partial<Usage> {
  const output = isObject(said) ? said : {};
  return counts({
    input_tokens: tokenCount(input["total"]),
    cached_input_tokens: tokenCount(input["cacheRead"]),
    cache_write_tokens: tokenCount(input["cacheWrite"]),
    output_tokens: tokenCount(output["total"]),
    reasoning_tokens: tokenCount(output["reasoning"]),
  });
}

function longWrites(raw: unknown): number | undefined {
  const parts = isObject(raw) ? raw["cache_creation"] : null;
  return isObject(parts) ? tokenCount(parts["ephemeral_1h_input_tokens"]) : undefined;
}

function counts(all: { [Key in keyof Usage]?: number | undefined }): Partial<Usage> {
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count !== undefined)) as Partial<Usage>;
}
