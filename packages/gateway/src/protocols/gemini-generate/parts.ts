import { LIMITS } from "../../core/limits.ts";
import type { Signature, StreamPart } from "../../core/stream-part.ts";
import { madeCallId } from "../call-ids.ts";
import { argumentsJson } from "../exact-json.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { DIALECT, pick, pickList, pickObject, pickString } from "./fields.ts";
import { PartialArgs } from "./partial-args.ts";

/** A call whose arguments still come. */
interface OpenCall {
  index: number;
  args: PartialArgs;
}

/**
 * The parts of one candidate's content as stream parts. A signature on a call goes with the call, one on a thought ends it;
 * one on a text becomes an empty thought behind it, which goes back as the empty text part that Gemini itself sends.
 */
export class ContentParts {
  readonly #choice: number;
  /** What call ids are made from where Gemini gives none. */
  readonly #place: string;
  #calls = 0;
  #open: OpenCall | null = null;
  /** Everything said so far is ASCII, so that Google's byte offsets are characters. */
  ascii = true;

  constructor(choice: number, responseId: string | null) {
    this.#choice = choice;
    this.#place = `${responseId ?? ""}/${choice}`;
  }

  /** True once there was a call. */
  get called(): boolean {
    return this.#calls > 0;
  }

  /** Reads the parts of one event. `logprobs` are those of its text. */
  read(list: readonly unknown[], logprobs: unknown[] | undefined, into: StreamPart[]): void {
    let entries = logprobs;
    for (const part of list) {
      if (!isObject(part)) continue;
      const signature = signatureOf(part);
      const call = pickObject(part, "functionCall");
      if (call) this.#readCall(call, signature, into);
      else if (typeof part["text"] === "string") {
        if (this.#readText(part["text"], part["thought"] === true, signature, entries, into)) entries = undefined;
      } else this.#readOther(part, signature, into);
    }
    if (entries && entries.length > 0) into.push({ type: "text", choice: this.#choice, text: "", logprobs: entries });
  }

  /** The end of the candidate: a call whose arguments were still to come has all there are. */
  end(into: StreamPart[]): void {
    this.#close(into);
  }

  /** True when the log probabilities went with this text. */
  #readText(
    text: string,
    thought: boolean,
    signature: Signature | undefined,
    entries: unknown[] | undefined,
    into: StreamPart[],
  ): boolean {
    const choice = this.#choice;
    if (thought) {
      if (text !== "" || signature) into.push({ type: "reasoning", choice, text, ...(signature && { signature }) });
      return false;
    }
    if (this.ascii && Buffer.byteLength(text) !== text.length) this.ascii = false;
    const takes = entries !== undefined && text !== "";
    if (text !== "") into.push({ type: "text", choice, text, ...(takes && { logprobs: entries }) });
    if (signature) into.push({ type: "reasoning", choice, text: "", signature });
    return takes;
  }

  /** Whole as a rule; Vertex may stream the arguments, and then names the call in its first piece alone. */
  #readCall(call: Fields, signature: Signature | undefined, into: StreamPart[]): void {
    const name = pickString(call, "name") ?? "";
    const goesOn = pick(call, "willContinue") === true;
    const pieces = pickList(call, "partialArgs");
    if (name !== "" || !this.#open) {
      if (name === "" && !Object.hasOwn(call, "args")) return;
      this.#close(into);
      this.#open = { index: this.#start(call, name, signature, into), args: new PartialArgs() };
    }
    this.#open.args.add(pieces);
    if (goesOn) return;
    const whole = pick(call, "args");
    if (whole === undefined) return this.#close(into);
    this.#finishCall(this.#open.index, argumentsJson(whole), into);
    this.#open = null;
  }

  #start(call: Fields, name: string, signature: Signature | undefined, into: StreamPart[]): number {
    if (this.#calls === LIMITS.streamItemsMax) throw new Error(`over ${LIMITS.streamItemsMax} tool calls`);
    const index = this.#calls++;
    const id = pickString(call, "id") || madeCallId(this.#place, index, name);
    into.push({ type: "tool_start", choice: this.#choice, index, id, name, ...(signature && { signature }) });
    return index;
  }

  #close(into: StreamPart[]): void {
    if (!this.#open) return;
    this.#finishCall(this.#open.index, this.#open.args.json(), into);
    this.#open = null;
  }

  #finishCall(index: number, text: string, into: StreamPart[]): void {
    into.push({ type: "tool_arguments", choice: this.#choice, index, text });
    into.push({ type: "tool_end", choice: this.#choice, index });
  }

  /** Pictures and sounds, and what only Google has: code it ran, tools it called itself. */
  #readOther(part: Fields, signature: Signature | undefined, into: StreamPart[]): void {
    const choice = this.#choice;
    const inline = pickObject(part, "inlineData");
    const data = inline && pickString(inline, "data");
    if (inline && data !== undefined) {
      const mediaType = pickString(inline, "mimeType") ?? "application/octet-stream";
      into.push({ type: "annotation", choice, annotation: { type: "media", mediaType, data } });
    } else if (Object.keys(part).some((key) => !SIGNS.has(key))) {
      into.push({ type: "annotation", choice, annotation: { type: "opaque", dialect: DIALECT, value: part } });
      return;
    }
    if (signature) into.push({ type: "reasoning", choice, text: "", signature });
  }
}

/** Members that say something about a part and are none. */
const SIGNS = new Set(["thought", "thoughtSignature", "thought_signature"]);

function signatureOf(part: Fields): Signature | undefined {
  const value = pickString(part, "thoughtSignature");
  return value ? { dialect: DIALECT, value } : undefined;
}
