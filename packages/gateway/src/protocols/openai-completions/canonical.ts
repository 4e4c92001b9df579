import type { Call } from "../../core/call.ts";
import type { CanonicalRequest, ForeignField } from "../../core/message.ts";
import { type Fields, isAbsent } from "../field-checks.ts";
import { canonicalSampling, foreignFields } from "../openai-chat/canonical.ts";
import { PLATFORM_MEMBERS } from "../platform-fields.ts";

/** Members the canonical form holds, those that only a chat has among what has no meaning here, and the gateway's own. */
const HELD: ReadonlySet<string> = new Set([
  ...["model", "prompt", "stream", "stream_options", "max_tokens", "temperature", "top_p", "top_k", "n", "stop"],
  ...["frequency_penalty", "presence_penalty", "seed", "user", "service_tier", "echo", "best_of", "suffix", "logprobs"],
  ...PLATFORM_MEMBERS,
]);

/** One prompt as the user's message. What completes a text rather than answers it cannot be asked of a chat model. */
export function toCanonical(call: Call): CanonicalRequest {
  const { body } = call;
  const text = onePrompt(body["prompt"]);
  return {
    messages: text === null ? [] : [{ role: "user", blocks: [{ type: "text", text }] }],
    tools: [],
    toolChoice: null,
    parallelToolCalls: null,
    responseFormat: null,
    ...canonicalSampling(call),
    logprobs: null,
    reasoning: null,
    metadata: null,
    verbosity: null,
    promptCacheKey: null,
    foreign: [...completionFields(body, text), ...foreignFields(body, HELD)],
  };
}

/** Null for several prompts, and for tokens: only their own model knows what they say. */
function onePrompt(prompt: unknown): string | null {
  const only: unknown = Array.isArray(prompt) && prompt.length === 1 ? prompt[0] : prompt;
  return typeof only === "string" ? only : null;
}

function completionFields(body: Fields, text: string | null): ForeignField[] {
  const asked: Record<string, boolean> = {
    prompt: text === null,
    echo: body["echo"] === true,
    best_of: typeof body["best_of"] === "number" && body["best_of"] > 1,
    suffix: !isAbsent(body["suffix"]) && body["suffix"] !== "",
    // Their form is another one than chat's, and 0 asks for them too.
    logprobs: !isAbsent(body["logprobs"]),
  };
  return Object.keys(asked).flatMap((path) => (asked[path] ? [{ path, meaning: true }] : []));
}
