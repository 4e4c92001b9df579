import { type GatewayMetadata, HEADERS } from "@sluicegate/contract";
import type { AssistantMessage } from "./chat-request.ts";
import { asObject, asObjects, asText, type JsonObject } from "./json-value.ts";
import { readUsage } from "./read-usage.ts";
import type { FinishReason, Reply, ReplyMessage, ReplyOrigin, ToolCall } from "./reply.ts";

const FINISH_REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "content_filter"],
]);

/** Who answered, from the headers and, where a browser may not see those, from the body. */
export function readOrigin(headers: Headers, body: JsonObject, askedModel: string): ReplyOrigin {
  const metadata = asObject(body["gateway_metadata"]);
  const said = (header: string, member: string) => headers.get(header) ?? asText(metadata?.[member]) ?? null;
  return {
    requestId: said(HEADERS.requestId, "request_id"),
    alias: headers.get(HEADERS.alias) ?? askedModel,
    deployment: said(HEADERS.deployment, "deployment"),
    provider: said(HEADERS.provider, "provider"),
    model: said(HEADERS.model, "model") ?? asText(body["model"]) ?? askedModel,
  };
}

/** A chat completion as a reply; undefined when it has no choice with a message, and so is none. */
export function readReply(raw: JsonObject, headers: Headers, askedModel: string, latencyMs: number): Reply | undefined {
  const choice = firstChoice(raw);
  const wire = asObject(choice?.["message"]);
  if (choice === undefined || wire === undefined) return undefined;
  const message = readMessage(wire);
  const metadata = asObject(raw["gateway_metadata"]) as GatewayMetadata | undefined;
  return {
    ...readOrigin(headers, raw, askedModel),
    message,
    usage: readUsage(raw["usage"]),
    finishReason: readFinishReason(choice["finish_reason"], message.toolCalls.length > 0),
    latencyMs,
    costUsd: metadata?.cost_usd ?? toAmount(headers.get(HEADERS.costUsd)),
    ...(metadata && { metadata }),
    raw,
  };
}

/** The choice with index 0, which is the first where indices are left out. */
export function firstChoice(body: JsonObject): JsonObject | undefined {
  return asObjects(body["choices"]).find((choice) => (choice["index"] ?? 0) === 0);
}

/** The wire's word in the closed set. A `stop` after tool calls is `tool_calls`: some providers mix them up. */
export function readFinishReason(word: unknown, hasToolCalls: boolean): FinishReason {
  const reason = FINISH_REASONS.get(word) ?? "error";
  return reason === "stop" && hasToolCalls ? "tool_calls" : reason;
}

/** A tool call of the wire, or a piece of one, less the parsing: what is missing is the empty string. */
export function readCalled(call: JsonObject): Omit<ToolCall, "arguments"> {
  const called = asObject(call["function"]) ?? asObject(call["custom"]) ?? {};
  const written = called["arguments"] ?? called["input"] ?? "";
  return {
    id: asText(call["id"]) ?? "",
    name: asText(called["name"]) ?? "",
    // Some servers send an object where the API says text.
    rawArguments: typeof written === "string" ? written : JSON.stringify(written),
  };
}

/** A whole tool call of the wire. */
export function readToolCall(call: JsonObject): ToolCall {
  const called = readCalled(call);
  return { ...called, arguments: parseArguments(called.rawArguments) };
}

function readMessage(wire: JsonObject): ReplyMessage {
  const refusal = asText(wire["refusal"]);
  const reasoning = asText(wire["reasoning_content"]) ?? asText(wire["reasoning"]);
  return {
    role: "assistant",
    text: asText(wire["content"]) ?? "",
    ...(refusal !== undefined && { refusal }),
    ...(reasoning !== undefined && { reasoning }),
    toolCalls: asObjects(wire["tool_calls"]).map(readToolCall),
    wire: { ...wire, role: "assistant" } as AssistantMessage,
  };
}

function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toAmount(header: string | null): number | null {
  const amount = Number.parseFloat(header ?? "");
  return Number.isFinite(amount) ? amount : null;
}
