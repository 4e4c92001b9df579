import type { Json } from "./loose-json.ts";

/** What stands where something else should: every kind of JSON value, and words that objects have of themselves. */
export const HOSTILE_VALUES: readonly unknown[] = [
  ...[null, 0, -1, 1e9, 1.5, 1e300, true, false],
  ...["", "x", "\ud800", "constructor", "toString", "__defineGetter__", "a\r\nb"],
  ...[[], [null], [[]], ["x", 1, null], [{}], {}, { a: 1 }, { toString: 1 }, { length: 5 }],
];

/** Every member of a JSON value, at any depth, as a path to it. */
export function pathsOf(value: unknown, base: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((key) => [[...base, key], ...pathsOf((value as Json)[key], [...base, key])]);
}

/** A copy with another value at `path`; undefined takes the member out. */
export function withValue<T>(value: T, path: readonly string[], put: unknown): T {
  const copy = structuredClone(value);
  let holder = copy as Json;
  for (const key of path.slice(0, -1)) holder = holder[key] as Json;
  const last = path.at(-1) ?? "";
  if (put === undefined && !Array.isArray(holder)) delete holder[last];
  else holder[last] = structuredClone(put);
  return copy;
}

const DATA = "iVBORw0KGgo=";
const PARAMETERS = {
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  anyOf: [{ required: ["a"] }],
};
const FORMAT = { type: "json_schema", name: "s", schema: { type: "object", properties: { a: {} } }, strict: true };
const PLATFORM = { gateway: { tags: { a: "b" }, task_class: "x", fallback: true }, session_id: "s" };

/** A request that uses much of its dialect, by protocol. */
export const RICH_REQUESTS: Readonly<Record<string, Json>> = {
  "openai-chat": {
    model: "m",
    ...PLATFORM,
    messages: [
      { role: "developer", name: "n", content: "x" },
      {
        role: "user",
        content: [
          { type: "text", text: "x", cache_control: { type: "ephemeral", ttl: "1h" } },
          { type: "image_url", image_url: { url: `data:image/png;base64,${DATA}`, detail: "low" } },
          { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${DATA}` } },
          { type: "input_audio", input_audio: { data: DATA, format: "wav" } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "x" },
          { type: "refusal", refusal: "x" },
        ],
        reasoning_content: "x",
        reasoning_details: [{ type: "reasoning.text", text: "x", signature: "s", format: "f", index: 0 }],
        tool_calls: [
          { id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' }, extra_content: { google: {} } },
          { id: "c2", type: "custom", custom: { name: "g", input: "x" } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: [{ type: "text", text: "x" }] },
      { role: "tool", tool_call_id: "c2", content: "x" },
    ],
    tools: [
      { type: "function", function: { name: "f", description: "x", parameters: PARAMETERS, strict: true } },
      {
        type: "custom",
        custom: { name: "g", format: { type: "grammar", grammar: { syntax: "lark", definition: "x" } } },
      },
    ],
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] },
    },
    response_format: { type: "json_schema", json_schema: FORMAT },
    ...{ stop: ["x"], n: 2, logprobs: true, top_logprobs: 2, seed: 1, temperature: 1, top_p: 1, max_tokens: 5 },
    ...{
      reasoning_effort: "low",
      thinking: { type: "enabled" },
      metadata: { a: "b" },
      service_tier: "auto",
      user: "u",
    },
    ...{
      verbosity: "low",
      parallel_tool_calls: true,
      stream_options: { include_usage: true },
      prediction: { content: "x" },
    },
  },
  "openai-responses": {
    model: "m",
    ...PLATFORM,
    instructions: "x",
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "x" },
          { type: "input_image", image_url: `data:image/png;base64,${DATA}` },
        ],
      },
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "x" }], encrypted_content: "e" },
      {
        type: "message",
        role: "assistant",
        id: "msg_1",
        content: [{ type: "output_text", text: "x", annotations: [] }],
      },
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: [{ type: "input_text", text: "x" }] },
      { type: "custom_tool_call", call_id: "c2", name: "g", input: "x" },
      { type: "custom_tool_call_output", call_id: "c2", output: "x" },
    ],
    tools: [
      { type: "function", name: "f", description: "x", parameters: PARAMETERS, strict: false },
      { type: "custom", name: "g", format: { type: "grammar", syntax: "lark", definition: "x" } },
      { type: "namespace", name: "ns", tools: [{ type: "function", name: "h", parameters: PARAMETERS }] },
      { type: "web_search" },
    ],
    tool_choice: { type: "function", name: "f" },
    text: { format: FORMAT, verbosity: "low" },
    reasoning: { effort: "low", summary: "auto" },
    ...{
      include: ["reasoning.encrypted_content"],
      store: false,
      metadata: { a: "b" },
      max_output_tokens: 20,
      top_logprobs: 1,
    },
    ...{ temperature: 1, top_p: 1, parallel_tool_calls: false, prompt_cache_key: "k", truncation: "auto", user: "u" },
  },
  "anthropic-messages": {
    model: "m",
    ...PLATFORM,
    max_tokens: 5,
    system: [{ type: "text", text: "x", cache_control: { type: "ephemeral" } }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "x" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: DATA } },
          {
            type: "document",
            title: "t",
            context: "c",
            citations: { enabled: true },
            source: { type: "text", media_type: "text/plain", data: "x" },
          },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "x", signature: "sg1.gemini-generate.call.x" },
          { type: "redacted_thinking", data: "x" },
          { type: "text", text: "x", citations: [{ type: "char_location", cited_text: "x", document_index: 0 }] },
          { type: "tool_use", id: "c1", name: "f", input: { a: 1 } },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "c1", is_error: true, content: [{ type: "text", text: "x" }] }],
      },
    ],
    tools: [
      { name: "f", description: "x", input_schema: PARAMETERS },
      { type: "web_search_20250305", name: "web_search" },
    ],
    tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true },
    thinking: { type: "enabled", budget_tokens: 1024 },
    output_config: { effort: "low", format: { type: "json_schema", schema: PARAMETERS } },
    ...{ stop_sequences: ["x"], temperature: 1, top_p: 1, top_k: 5, metadata: { user_id: "u" }, service_tier: "auto" },
  },
  "gemini-generate": {
    ...PLATFORM,
    systemInstruction: { parts: [{ text: "x" }] },
    contents: [
      {
        role: "user",
        parts: [
          { text: "x" },
          { inlineData: { mimeType: "image/png", data: DATA } },
          { fileData: { fileUri: "gs://a" } },
        ],
      },
      {
        role: "model",
        parts: [
          { text: "x", thought: true, thoughtSignature: "c2cx" },
          { functionCall: { id: "c1", name: "f", args: { a: 1 } }, thoughtSignature: "eA==" },
        ],
      },
      {
        role: "user",
        parts: [
          {
            functionResponse: {
              id: "c1",
              name: "f",
              response: { output: "x" },
              parts: [{ inlineData: { mimeType: "image/png", data: DATA } }],
            },
          },
        ],
      },
    ],
    tools: [
      {
        functionDeclarations: [
          { name: "f", description: "x", parameters: { type: "OBJECT", properties: { a: { type: "STRING" } } } },
        ],
      },
      { googleSearch: {} },
    ],
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
    generationConfig: {
      ...{ candidateCount: 1, maxOutputTokens: 5, temperature: 1, topP: 1, topK: 5, seed: 1, stopSequences: ["x"] },
      ...{
        responseMimeType: "application/json",
        responseSchema: { type: "OBJECT", properties: { a: { type: "STRING" } } },
      },
      ...{ thinkingConfig: { includeThoughts: true, thinkingBudget: 5 }, responseLogprobs: true, logprobs: 2 },
    },
    safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
  },
};
