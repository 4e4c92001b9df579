import type { StrictBody } from "../protocols/protocol.ts";

/** What Mistral takes (WIRE B7), by the protocol it is asked in. */
export const MISTRAL_BODIES: Readonly<Record<string, StrictBody>> = {
  "openai-chat": {
    members: new Set([
      ...["model", "messages", "stream", "max_tokens", "stop", "temperature", "top_p", "n", "random_seed"],
      ...["frequency_penalty", "presence_penalty", "response_format", "tools", "tool_choice", "parallel_tool_calls"],
      ...["prediction", "metadata", "prompt_mode", "reasoning_effort", "prompt_cache_key", "safe_prompt", "guardrails"],
    ]),
    renames: new Map([["seed", "random_seed"]]),
    keeps: /^(?:prediction|random_seed|safe_prompt|guardrails|messages\[\d+\]\.prefix)$/,
    messages: {
      members: {
        system: new Set(["role", "content"]),
        user: new Set(["role", "content"]),
        assistant: new Set(["role", "content", "tool_calls", "prefix"]),
        tool: new Set(["role", "content", "tool_call_id", "name"]),
      },
      callId: { fits: /^[a-zA-Z0-9]{9}$/, chars: 9 },
    },
  },
  "openai-embeddings": {
    members: new Set(["model", "input", "encoding_format", "output_dimension", "output_dtype", "metadata"]),
    renames: new Map([["dimensions", "output_dimension"]]),
    keeps: /^output_dtype$/,
  },
};
