import { logprobEntries } from "../openai-logprobs.ts";

/** The `logprobs` object of a choice for these tokens, with `top` made-up alternatives each. */
export function logprobsOf(tokens: readonly string[], top: number): unknown {
  return { content: logprobEntries(tokens, top), refusal: null };
}
