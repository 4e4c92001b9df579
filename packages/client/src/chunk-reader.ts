import { asObject, asObjects, asText, type JsonObject } from "./json-value.ts";
import { mergeDelta } from "./merge-delta.ts";
import { firstChoice, readFinishReason, readOrigin } from "./read-reply.ts";
import { readUsage } from "./read-usage.ts";
import type { StreamPart } from "./stream-part.ts";
import { createToolCalls } from "./tool-calls.ts";

/** Turns the chunks of one stream into parts, and into the chat completion they add up to. */
export interface ChunkReader {
  read(chunk: JsonObject): StreamPart[];
  /** The closing parts; undefined when no finish reason ever came, so that the stream was cut. */
  end(): StreamPart[] | undefined;
  /** The chat completion that a call without streaming would have given. */
  completion(): JsonObject;
}

/** A reader for a stream answered with these headers. */
export function createChunkReader(headers: Headers, askedModel: string): ChunkReader {
  const tools = createToolCalls();
  const top: JsonObject = {};
  const message: JsonObject = { role: "assistant", content: null };
  const rest: JsonObject = {};
  let isStarted = false;
  let finishWord: unknown;

  const readChoice = (choice: JsonObject): StreamPart[] => {
    const { delta, index: _, finish_reason: word, ...others } = choice;
    mergeDelta(rest, others);
    if (asText(word) !== undefined) finishWord = word;
    const { tool_calls: fragments, ...said } = asObject(delta) ?? {};
    mergeDelta(message, said);
    return [...readDelta(said), ...asObjects(fragments).flatMap((fragment) => tools.add(fragment))];
  };

  return {
    read(chunk) {
      const { choices: _, ...others } = chunk;
      for (const [member, value] of Object.entries(others)) {
        // A later value replaces an earlier one; null says nothing, so that a trailing `usage: null` erases nothing.
        if (value !== null || !(member in top)) top[member] = value;
      }
      const parts: StreamPart[] = isStarted ? [] : [{ type: "start", ...readOrigin(headers, chunk, askedModel) }];
      isStarted = true;
      const choice = firstChoice(chunk);
      return choice === undefined ? parts : [...parts, ...readChoice(choice)];
    },
    end() {
      if (finishWord === undefined) return undefined;
      const parts = tools.end();
      const usage = readUsage(top["usage"]);
      const finishReason = readFinishReason(finishWord, parts.length > 0);
      return [
        ...parts,
        ...(usage === null ? [] : [{ type: "usage" as const, usage }]),
        { type: "finish", finishReason },
      ];
    },
    completion() {
      const calls = tools.wire();
      const whole = calls.length > 0 ? { ...message, tool_calls: calls } : message;
      const choice = { index: 0, ...rest, message: whole, finish_reason: finishWord };
      return { ...top, object: "chat.completion", choices: [choice] };
    },
  };
}

/** What a delta says, other than tool calls. */
function readDelta(delta: JsonObject): StreamPart[] {
  const parts: StreamPart[] = [];
  const reasoning = asText(delta["reasoning_content"]) ?? asText(delta["reasoning"]);
  const signature = asObjects(delta["reasoning_details"])
    .map((detail) => asText(detail["signature"]))
    .find(Boolean);
  if (reasoning !== undefined || signature !== undefined) {
    parts.push({ type: "reasoning", text: reasoning ?? "", ...(signature !== undefined && { signature }) });
  }
  const text = asText(delta["content"]);
  if (text !== undefined) parts.push({ type: "text", text });
  const refusal = asText(delta["refusal"]);
  if (refusal !== undefined) parts.push({ type: "refusal", text: refusal });
  for (const annotation of asObjects(delta["annotations"])) parts.push({ type: "annotation", annotation });
  return parts;
}
