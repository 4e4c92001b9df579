import { asObject, asText, type JsonObject } from "./json-value.ts";
import { mergeDelta } from "./merge-delta.ts";
import { readCalled, readToolCall } from "./read-reply.ts";
import type { StreamPart } from "./stream-part.ts";

interface OpenCall {
  wireIndex: unknown;
  /** The call as a whole answer would have it, as far as it has come. */
  wire: JsonObject;
  isStarted: boolean;
  /** Arguments that came before the name did. */
  unsent: string;
}

/** Puts streamed tool calls together. Fragments after a call's first carry only its index, or not even that. */
export interface ToolCalls {
  add(fragment: JsonObject): StreamPart[];
  /** The end of every call, and what of it could not go out before. */
  end(): StreamPart[];
  /** The calls so far, as the wire has them in a whole message. */
  wire(): JsonObject[];
}

/** Starts with no calls. */
export function createToolCalls(): ToolCalls {
  const calls: OpenCall[] = [];

  const open = (fragment: JsonObject): OpenCall => {
    const known = findCall(calls, asText(fragment["id"]), fragment["index"] ?? undefined);
    if (known !== undefined) return known;
    const call = { wireIndex: fragment["index"] ?? undefined, wire: {}, isStarted: false, unsent: "" };
    calls.push(call);
    return call;
  };

  return {
    add(fragment) {
      const call = open(fragment);
      const { index: _, ...rest } = fragment;
      mergeDelta(call.wire, withTextArguments(rest));
      call.unsent += readCalled(fragment).rawArguments;
      return call.isStarted || readCalled(call.wire).name !== "" ? advance(call, calls.indexOf(call)) : [];
    },
    end: () =>
      calls.flatMap((call, index) => [
        ...advance(call, index),
        { type: "tool_end" as const, index, ...readToolCall(call.wire) },
      ]),
    wire: () => calls.map((call) => call.wire),
  };
}

/** The call a fragment goes on with. An id that is new makes a new call, also under an index that was used before. */
function findCall(calls: OpenCall[], id: string | undefined, index: unknown): OpenCall | undefined {
  const hasIndex = (call: OpenCall) => index === undefined || call.wireIndex === index;
  const latest = calls.findLast(hasIndex);
  if (id === undefined || latest?.wire["id"] === undefined) return latest;
  return calls.findLast((call) => hasIndex(call) && call.wire["id"] === id);
}

/** The parts that say what is new about a call. */
function advance(call: OpenCall, index: number): StreamPart[] {
  const { id, name } = readCalled(call.wire);
  const parts: StreamPart[] = [];
  if (!call.isStarted) parts.push({ type: "tool_start", index, id, name });
  if (call.unsent !== "") parts.push({ type: "tool_arguments", index, id, text: call.unsent });
  call.isStarted = true;
  call.unsent = "";
  return parts;
}

function withTextArguments(fragment: JsonObject): JsonObject {
  const called = asObject(fragment["function"]);
  if (asObject(called?.["arguments"]) === undefined) return fragment;
  return { ...fragment, function: { ...called, arguments: readCalled(fragment).rawArguments } };
}
