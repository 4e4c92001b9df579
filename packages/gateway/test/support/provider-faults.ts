import type { ErrorClass } from "@sluicegate/contract";
import type { ClientName } from "./client-dialects.ts";
import { eventFrame, exceptionFrame, frame } from "./event-frames.ts";
import { chatChunk } from "./upstream.ts";

/** The providers of the table. */
export type ProviderName =
  | "bedrock"
  | "gemini"
  | "anthropic"
  | "azure"
  | "azure-chat"
  | "deepseek"
  | "deepseek-responses"
  | "xai"
  | "cohere";

/** The providers; `own` are the client dialects that the deployment speaks itself. */
export const PROVIDERS: Readonly<Record<ProviderName, { settings: string; own: readonly ClientName[]; api?: string }>> =
  {
    bedrock: { settings: "kind: bedrock", own: [] },
    gemini: { settings: "kind: gemini", own: ["gemini", "gemini-array"] },
    anthropic: { settings: "kind: anthropic", own: ["messages"] },
    azure: { settings: "kind: azure-openai", own: ["chat", "responses"] },
    "azure-chat": { settings: "kind: azure-openai", own: ["chat"], api: "chat" },
    deepseek: { settings: "kind: openai-compatible, preset: deepseek", own: ["chat", "responses"] },
    "deepseek-responses": {
      ...{ settings: "kind: openai-compatible, preset: deepseek", own: ["responses"], api: "responses" },
    },
    xai: { settings: "kind: openai-compatible, preset: xai", own: ["chat", "responses"] },
    cohere: { settings: "kind: cohere", own: [] },
  };
/** One way for a provider to fail: what it answers, and what that is. */
export interface Fault {
  name: string;
  provider: ProviderName;
  /** Was a stream asked for? */
  stream: boolean;
  class: ErrorClass;
  status: number;
  contentType: string;
  body: Buffer;
  /** What of it a client of the provider's own dialect is shown as it is, where the request is refused (ruling 18). */
  verbatim: string | null;
  /** The words have gone to the client before it fails. */
  begun?: boolean;
}

/** What a stream says before it fails. */
export const WORDS = "first words";
/** The key that all of them are shown; some quote it. */
export const API_KEY = "upstream-key-0123456789";
/** Classes for which nobody else is asked. */
export const FINAL: ReadonlySet<ErrorClass> = new Set<ErrorClass>([
  "bad_request",
  "content_filtered",
  "context_overflow",
]);

/** A fault of a whole answer: told with its status whether a stream was asked for or not. */
function refusal(
  name: string,
  provider: Fault["provider"],
  kind: ErrorClass,
  [status, body, contentType = "application/json"]: [number, unknown, string?],
): Fault[] {
  const text = JSON.stringify(body);
  const verbatim = FINAL.has(kind) && status !== 200 ? text : null;
  const answer = { provider, class: kind, status, contentType, body: Buffer.from(text), verbatim };
  return [false, true].map((stream) => ({ name: `${name} (${stream ? "stream" : "json"})`, stream, ...answer }));
}

/** A fault in a stream, once before and once behind the first words. */
function inStream(
  name: string,
  provider: Fault["provider"],
  kind: ErrorClass,
  { contentType, preamble, words, fault }: Record<"preamble" | "words" | "fault", Buffer> & { contentType: string },
): Fault[] {
  const said = /^data: (.*)$/m.exec(fault.toString("utf8"))?.[1] ?? null;
  const verbatim = FINAL.has(kind) ? said : null;
  const answer = { provider, stream: true, class: kind, status: 200, contentType, verbatim };
  return [
    { name: `${name}, at once`, ...answer, body: Buffer.concat([preamble, fault]) },
    { name: `${name}, behind words`, ...answer, body: Buffer.concat([preamble, words, fault]), begun: true },
  ];
}

const delta = (text: string): Buffer => eventFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { text } });

function frames(name: string, kind: ErrorClass, fault: Buffer): Fault[] {
  return inStream(name, "bedrock", kind, {
    contentType: "application/vnd.amazon.eventstream",
    preamble: eventFrame("messageStart", { role: "assistant" }),
    words: delta(WORDS),
    fault,
  });
}

/** The frame with one bit of it turned over. */
function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

const NEXT = delta("next words");
const ERROR_FRAME = frame({ ":message-type": "error", ":error-code": "InternalError", ":error-message": "broke" }, "");

const BEDROCK: Fault[] = [
  ...frames("a bit of the payload turned", "invalid_response", flipped(NEXT, NEXT.length - 8)),
  ...frames("a bit of a length turned", "invalid_response", flipped(NEXT, 2)),
  ...frames("a bit of the checksum turned", "invalid_response", flipped(NEXT, NEXT.length - 1)),
  ...frames("a frame cut within", "invalid_response", NEXT.subarray(0, NEXT.length - 5)),
  ...frames("a frame cut in its prelude", "invalid_response", NEXT.subarray(0, 7)),
  ...frames("a stream cut between frames", "invalid_response", Buffer.alloc(0)),
  ...frames("a throttling exception", "rate_limited", exceptionFrame("throttlingException", { message: "slow down" })),
  ...frames(
    "an exception of the model's",
    "provider_error",
    exceptionFrame("modelStreamErrorException", { message: "broke", originalStatusCode: 500 }),
  ),
  ...frames(
    "an exception of the server's",
    "provider_error",
    exceptionFrame("internalServerException", { message: "" }),
  ),
  ...frames("no service", "overloaded", exceptionFrame("serviceUnavailableException", { message: "busy" })),
  ...frames(
    "an exception for the request",
    "bad_request",
    exceptionFrame("validationException", { message: "a field is not valid" }),
  ),
  ...frames(
    "an exception for its length",
    "context_overflow",
    exceptionFrame("validationException", { message: "Input is too long for requested model." }),
  ),
  ...frames("an error frame", "provider_error", ERROR_FRAME),
  ...refusal("AWS, an old token as 400", "bedrock", "auth_failed", [
    400,
    { __type: "com.amazon.coral.service#ExpiredTokenException", message: "The security token is expired" },
  ]),
  ...refusal("AWS, a token nobody knows", "bedrock", "auth_failed", [
    403,
    { __type: "UnrecognizedClientException", message: "The security token included in the request is invalid." },
  ]),
];

const GEMINI_USAGE = { promptTokenCount: 3, totalTokenCount: 3 };
const googleEvent = (body: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(body)}\r\n\r\n`);
const google = (status: number, word: string, details: unknown[] = []) => ({
  error: { code: status, message: "said by Google", status: word, details },
});
const BAD_GOOGLE_KEY = google(400, "INVALID_ARGUMENT", [
  { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID", domain: "googleapis.com" },
]);

/** An answer without candidates, whole and as the only event of a stream. */
function withoutCandidates(name: string, kind: ErrorClass, body: unknown): Fault[] {
  return [
    ...refusal(name, "gemini", kind, [200, body]).filter(({ stream }) => !stream),
    {
      ...{ name: `${name} (stream)`, provider: "gemini", stream: true, class: kind, status: 200 },
      contentType: "text/event-stream",
      body: googleEvent(body),
      verbatim: null,
    },
  ];
}

const GEMINI: Fault[] = [
  ...withoutCandidates("a blocked prompt", "content_filtered", {
    promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
    usageMetadata: GEMINI_USAGE,
    modelVersion: "gemini-x",
  }),
  ...withoutCandidates("no candidates", "invalid_response", { usageMetadata: GEMINI_USAGE, modelVersion: "gemini-x" }),
  ...withoutCandidates("an empty list of candidates", "invalid_response", { candidates: [] }),
  ...inStream("Google's bare error", "gemini", "overloaded", {
    contentType: "text/event-stream",
    preamble: Buffer.alloc(0),
    words: googleEvent({ candidates: [{ content: { role: "model", parts: [{ text: WORDS }] }, index: 0 }] }),
    fault: Buffer.from(JSON.stringify(google(503, "UNAVAILABLE"), null, 2)),
  }),
  ...refusal("Google, a bad key as 400", "gemini", "auth_failed", [400, BAD_GOOGLE_KEY]),
  ...refusal("Google, a bad key in an array", "gemini", "auth_failed", [400, [BAD_GOOGLE_KEY]]),
  ...refusal("Google, not from here", "gemini", "auth_failed", [400, google(400, "FAILED_PRECONDITION")]),
  ...refusal("Google, a bad request", "gemini", "bad_request", [400, google(400, "INVALID_ARGUMENT")]),
];

const messagesEvent = (type: string, fields: object): Buffer =>
  Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);

function messagesError(type: string, kind: ErrorClass): Fault[] {
  const usage = { input_tokens: 3, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", content: [], model: "claude-x", usage };
  return inStream(`Anthropic's ${type}`, "anthropic", kind, {
    contentType: "text/event-stream",
    preamble: Buffer.concat([messagesEvent("message_start", { message }), messagesEvent("ping", {})]),
    words: Buffer.concat([
      messagesEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
      messagesEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text: WORDS } }),
    ]),
    fault: messagesEvent("error", { error: { type, message: "said by Anthropic" } }),
  });
}

const ANTHROPIC: Fault[] = [
  ...messagesError("overloaded_error", "overloaded"),
  ...messagesError("api_error", "provider_error"),
  ...messagesError("rate_limit_error", "rate_limited"),
  ...refusal("Anthropic, no credit as 400", "anthropic", "quota_exhausted", [
    400,
    { type: "error", error: { type: "invalid_request_error", message: "Your credit balance is too low to go on." } },
  ]),
  ...refusal("Anthropic, too long", "anthropic", "context_overflow", [
    400,
    { type: "error", error: { type: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum" } },
  ]),
];

const FILTERED = { hate: { filtered: true, severity: "high" } };
const azureError = (code: string | null) => ({
  error: {
    ...{ message: "The response was filtered", type: null, param: "prompt", code, status: 400 },
    innererror: { code: "ResponsibleAIPolicyViolation", content_filter_result: FILTERED },
  },
});
const openaiError = (message: string, code: string | null) => ({
  error: { message, type: "invalid_request_error", param: null, code },
});
const OCTETS = "application/octet-stream";
const NO_OUTPUT = openaiError("No tool output found for tool call call-a.", "invalid_request_error");
const TOO_LONG = openaiError("This model's maximum context length is 131072 tokens.", "invalid_request_error");
const chatEvent = (body: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(body)}\n\n`);

const FAMILY: Fault[] = [
  ...refusal("Azure's filter of prompts", "azure", "content_filtered", [400, azureError("content_filter")]),
  ...refusal("Azure's filter, by its inner code", "azure", "content_filtered", [400, azureError(null)]),
  ...inStream("Azure's filter as an event", "azure-chat", "content_filtered", {
    contentType: "text/event-stream",
    preamble: chatEvent({ id: "", object: "", created: 0, model: "", choices: [], prompt_filter_results: [] }),
    words: Buffer.from(chatChunk({ role: "assistant", content: WORDS })),
    fault: chatEvent(azureError("content_filter")),
  }),
  ...(["deepseek", "deepseek-responses"] as const).flatMap((provider) => [
    ...refusal(`${provider}, a 400 of octets`, provider, "bad_request", [400, NO_OUTPUT, OCTETS]),
    ...refusal(`${provider}, too long, of octets`, provider, "context_overflow", [400, TOO_LONG, OCTETS]),
    ...refusal(`${provider}, no credit, of octets`, provider, "quota_exhausted", [
      402,
      openaiError("Insufficient Balance", "invalid_request_error"),
      OCTETS,
    ]),
  ]),
  ...refusal("xAI, a bad key as 400", "xai", "auth_failed", [
    400,
    { code: "Client specified an invalid argument", error: `Incorrect API key provided: ${API_KEY}.` },
  ]),
  ...refusal("a bad key as 400, by its code", "xai", "auth_failed", [400, openaiError("no", "invalid_api_key")]),
  ...refusal("Cohere, a bad key as 498", "cohere", "auth_failed", [498, { message: "invalid api token" }]),
  ...refusal("Cohere, too long", "cohere", "context_overflow", [400, { message: "too many tokens: 9 exceeds 8" }]),
];

/** Every provider's own way to fail. */
export const FAULTS: readonly Fault[] = [...BEDROCK, ...GEMINI, ...ANTHROPIC, ...FAMILY];
