// The bytes of the benchmark: what clients send and what the upstream answers. The same for every proxy.

/** Sizes of the two JSON request bodies, in bytes. */
export const SMALL_BODY_BYTES = 1_536;
export const LARGE_BODY_BYTES = 40_960;

/** Size of the JSON answer, in bytes; the large request gets the same one. A gateway may add so much to it. */
export const ANSWER_BYTES = 1_229;
export const ADDED_BYTES_MAX = 1_024;

/** The model name clients ask for; the gateway's alias. */
export const MODEL = "bench";

const WORDS =
  "a gateway sits between an application and the models it asks, keeps count of what is spent and says no when the money is gone ";

/** A chat request of exactly `bytes` bytes. */
export function chatBody(bytes) {
  const make = (content) =>
    JSON.stringify({
      model: MODEL,
      messages: [
        { role: "system", content: "bench:json You are a careful assistant. Answer in two sentences." },
        { role: "user", content },
      ],
      temperature: 0.2,
      max_tokens: 256,
    });
  return make(filler(bytes - make("").length));
}

/**
 * A chat request for a stream of `events` SSE events, one every `intervalMs`. The pace stands in the first message, at
 * the start of the body, so that it passes every proxy unchanged.
 */
export function streamBody(events, intervalMs) {
  const make = (content) =>
    JSON.stringify({
      model: MODEL,
      messages: [
        { role: "system", content: `bench:stream:${events}:${intervalMs}: You are a careful assistant.` },
        { role: "user", content },
      ],
      temperature: 0.2,
      max_tokens: 256,
      stream: true,
      stream_options: { include_usage: true },
    });
  return make(filler(SMALL_BODY_BYTES - make("").length));
}

/** The same stream asked for in Anthropic's dialect: the gateway translates the call, and every event of the answer. */
export function translatedBody(events, intervalMs) {
  const make = (content) =>
    JSON.stringify({
      model: MODEL,
      system: `bench:stream:${events}:${intervalMs}: You are a careful assistant.`,
      messages: [{ role: "user", content }],
      temperature: 0.2,
      max_tokens: 256,
      stream: true,
    });
  return make(filler(SMALL_BODY_BYTES - make("").length));
}

/** Events a Messages client gets for `events` chat events: the block's start and stop, one end less than chat's three. */
export function translatedEvents(events) {
  return events + 1;
}

/** The pace that a request body asks for, or null for a JSON answer. `start` is the body's first few hundred bytes. */
export function paceOf(start) {
  const match = /bench:stream:(\d+):(\d+):/.exec(start);
  return match && { events: Number(match[1]), intervalMs: Number(match[2]) };
}

/** Whether a request body asks for a failure. */
export function failsAsAsked(start) {
  return start.includes("bench:fail:");
}

/** The upstream's JSON answer. */
export function answerBody() {
  const make = (content) =>
    JSON.stringify({
      id: "chatcmpl-bench0000000000000000000",
      object: "chat.completion",
      created: 1_760_000_000,
      model: "bench-model-2026-01-01",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content, refusal: null, annotations: [] },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: {
        prompt_tokens: 312,
        completion_tokens: 121,
        total_tokens: 433,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
      },
      service_tier: "default",
      system_fingerprint: "fp_bench",
    });
  return make(filler(ANSWER_BYTES - make("").length));
}

/** The SSE events of a stream: role, content, finish, usage, [DONE]; `events` in all, about 250 bytes each. */
export function streamEvents(events) {
  const chunk = (choices, usage = null) =>
    `data: ${JSON.stringify({
      id: "chatcmpl-bench0000000000000000000",
      object: "chat.completion.chunk",
      created: 1_760_000_000,
      model: "bench-model-2026-01-01",
      service_tier: "default",
      system_fingerprint: "fp_bench",
      choices,
      usage,
    })}\n\n`;
  const delta = (part, finish = null) => [{ index: 0, delta: part, logprobs: null, finish_reason: finish }];
  const content = chunk(delta({ content: " sluice" }));
  const usage = { prompt_tokens: 312, completion_tokens: events - 4, total_tokens: 308 + events };
  return [
    chunk(delta({ role: "assistant", content: "", refusal: null })),
    ...Array.from({ length: events - 4 }, () => content),
    chunk(delta({}, "stop")),
    chunk([], usage),
    "data: [DONE]\n\n",
  ];
}

function filler(bytes) {
  return WORDS.repeat(Math.ceil(bytes / WORDS.length)).slice(0, bytes);
}
