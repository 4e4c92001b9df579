import { isObject, type JsonObject } from "../json.ts";
import { type Heard, type HeardKind, mediaOf } from "../models/mirror.ts";

const KINDS: Readonly<Record<string, HeardKind>> = {
  image_url: "image",
  input_audio: "audio",
  file: "file",
  refusal: "refusal",
};

/** What a valid chat request says, for the model `mirror`. */
export function heardChat(body: JsonObject): Heard {
  const all = Array.isArray(body.messages) ? body.messages.filter(isObject) : [];
  const system = all.filter(isSystem).map(({ content }) => textOf(content));
  const rest = all.filter((message) => !isSystem(message));
  return {
    dialect: "openai-chat",
    system: system.length === 0 ? null : system.join("\n\n"),
    messages: rest.map((message) => ({ role: String(message.role), kinds: kindsOf(message) })),
    tool_results: rest.filter(isResult).map((message) => ({
      id: String(message.tool_call_id ?? message.name),
      text: textOf(message.content),
      error: false,
    })),
    images: rest.flatMap(({ content }) => partsOf(content).flatMap(imagesOf)),
    temperature: typeof body.temperature === "number" ? body.temperature : null,
    top_p: typeof body.top_p === "number" ? body.top_p : null,
  };
}

function isSystem({ role }: JsonObject): boolean {
  return role === "system" || role === "developer";
}

function isResult({ role }: JsonObject): boolean {
  return role === "tool" || role === "function";
}

function kindsOf(message: JsonObject): HeardKind[] {
  if (isResult(message)) return ["tool_result"];
  const { content, tool_calls: calls } = message;
  const spoken = typeof content === "string" && content !== "" ? ["text" as const] : partsOf(content).map(kindOf);
  return [
    ...(message.reasoning_content != null || message.reasoning != null ? ["reasoning" as const] : []),
    ...spoken,
    ...(message.refusal != null ? ["refusal" as const] : []),
    ...(Array.isArray(calls) ? calls.map(() => "tool_call" as const) : []),
    ...(message.function_call != null ? ["tool_call" as const] : []),
  ];
}

function kindOf({ type }: JsonObject): HeardKind {
  return KINDS[String(type)] ?? "text";
}

function imagesOf({ image_url: image }: JsonObject): string[] {
  return isObject(image) ? [mediaOf(String(image.url))] : [];
}

function partsOf(content: unknown): JsonObject[] {
  return Array.isArray(content) ? content.filter(isObject) : [];
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return partsOf(content)
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}
