import { noUsage, type Usage } from "@sluicegate/contract";
import { GatheredText } from "../../core/gathered-text.ts";
import type { Annotation, ToolCallBlock } from "../../core/message.ts";
import type { FinishReason, Signature, StreamPart } from "../../core/stream-part.ts";
import { bodyJson, carriesText } from "../exact-json.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { mergeUsage } from "../protocol.ts";
import { parsedArguments } from "../tool-arguments.ts";
import type { Shown, StreamWriter } from "../translation.ts";
import { wordOfReason } from "./finish.ts";
import { framing } from "./framing.ts";
import { writeLogprobs } from "./logprobs.ts";
import { annotationParts, besideOf, callPart, responseOf, thoughtParts } from "./response.ts";

/** A call whose arguments still come. */
interface OpenCall {
  id: string;
  name: string;
  custom: true | undefined;
  signature: Signature | undefined;
  text: GatheredText;
}

interface ChoiceState {
  calls: Map<number, OpenCall>;
  finish: FinishReason | null;
  /** What stands beside the text goes into the last event. */
  annotations: Annotation[];
  /** The latest piece of a thought: a signature has to come in one part with words, or clients pass over it. */
  thought: string;
  /** All text so far is ASCII: places in it are the same in characters and in bytes. */
  ascii: boolean;
}

/**
 * Writes a stream as Gemini would: every event a whole response object with what is new. Calls go out whole, so their
 * arguments are collected; the finish reasons, with the usage that comes after them, are the last event.
 */
export function streamWriter(shown: Shown): StreamWriter {
  const choices = new Map<number, ChoiceState>();
  const frame = framing(shown.call);
  let model: string | null = null;
  let usage: Usage | null = null;

  const stateOf = (choice: number): ChoiceState => {
    let state = choices.get(choice);
    if (!state) {
      state = { calls: new Map(), finish: null, annotations: [], thought: "", ascii: true };
      choices.set(choice, state);
    }
    return state;
  };
  const event = (candidates: Fields[], counted: Usage | null, texts = false): Buffer =>
    frame.event(bodyJson(responseOf(candidates, model, counted, shown), texts));
  const say = (choice: number, parts: Fields[], beside: Fields = {}): Buffer | null =>
    parts.length === 0
      ? null
      : event([{ content: { parts, role: "model" }, index: choice, ...beside }], null, parts.some(carriesArguments));

  return {
    write(part) {
      if (part.type === "start") {
        model = part.model;
        return null;
      }
      if (part.type === "usage") {
        usage = mergeUsage(usage ?? noUsage(), part.usage);
        return null;
      }
      if (part.type === "error") return null;
      const state = stateOf(part.choice);
      const thoughts = part.type === "reasoning" ? thoughtsOf(part, state) : heldThought(state);
      const { parts, beside } = partsOf(part, state);
      return say(part.choice, [...thoughts, ...parts], beside);
    },
    end(metadata) {
      const order = [...choices].sort(([a], [b]) => a - b);
      const left = order.map(([index, state]) => say(index, heldThought(state)) ?? Buffer.alloc(0));
      const last = event(
        order.map(([index, state]) => closing(index, state)),
        usage,
      );
      const said = metadata ? [frame.event(JSON.stringify({ gateway_metadata: metadata }))] : [];
      return Buffer.concat([...left, last, ...said, frame.end()]);
    },
  };
}

type ChoicePart = Exclude<StreamPart, { type: "start" | "usage" | "error" }>;

/** The parts that say this now; what is to be said later is kept in `state`. */
function partsOf(part: ChoicePart, state: ChoiceState): { parts: Fields[]; beside?: Fields } {
  switch (part.type) {
    case "text": {
      const beside = part.logprobs && { logprobsResult: writeLogprobs(part.logprobs) };
      if (state.ascii && Buffer.byteLength(part.text) !== part.text.length) state.ascii = false;
      const parts = part.text !== "" || beside ? [{ text: part.text }] : [];
      return { parts, ...(beside && { beside }) };
    }
    case "refusal":
      return { parts: part.text === "" ? [] : [{ text: part.text }] };
    case "reasoning":
      return { parts: [] };
    case "tool_start": {
      const { id, name, signature } = part;
      state.calls.set(part.index, { id, name, custom: part.custom, signature, text: new GatheredText() });
      return { parts: [] };
    }
    case "tool_arguments":
      state.calls.get(part.index)?.text.add(part.text);
      return { parts: [] };
    case "tool_end":
      return { parts: endCall(part.index, state) };
    case "annotation":
      state.annotations.push(part.annotation);
      return { parts: annotationParts(part.annotation) };
    case "finish": {
      state.finish = part.reason;
      // A call that nobody ended is over with its answer.
      return { parts: [...state.calls.keys()].flatMap((index) => endCall(index, state)) };
    }
  }
}

/** A thought piece by piece, one behind what has come: the last goes out with what it is signed with. */
function thoughtsOf({ text, signature, encrypted }: ChoicePart & { type: "reasoning" }, state: ChoiceState): Fields[] {
  if ((signature || encrypted) && text === "") {
    const words = state.thought;
    state.thought = "";
    return thoughtParts(words, signature, encrypted);
  }
  const parts = text === "" ? [] : heldThought(state);
  if (signature || encrypted) return [...parts, ...thoughtParts(text, signature, encrypted)];
  state.thought += text;
  return parts;
}

function heldThought(state: ChoiceState): Fields[] {
  const { thought } = state;
  state.thought = "";
  return thought === "" ? [] : thoughtParts(thought, undefined, undefined);
}

function carriesArguments({ functionCall }: Fields): boolean {
  return isObject(functionCall) && carriesText(functionCall["args"]);
}

function endCall(index: number, state: ChoiceState): Fields[] {
  const open = state.calls.get(index);
  if (!open) return [];
  state.calls.delete(index);
  const { id, name, custom, signature } = open;
  const text = open.text.whole();
  const given = custom ? undefined : parsedArguments(text);
  const call: ToolCallBlock = {
    ...{ type: "tool_call" as const, id, name, text },
    ...(given && { arguments: given }),
    ...(custom && { custom }),
    ...(signature && { signature }),
  };
  return [callPart(call)];
}

function closing(index: number, { finish, annotations, ascii }: ChoiceState): Fields {
  return {
    content: { parts: [{ text: "" }], role: "model" },
    // What ended without saying why has ended.
    finishReason: wordOfReason(finish ?? "stop"),
    index,
    ...(annotations.length > 0 && besideOf(annotations, ascii ? (chars) => chars : null)),
  };
}
