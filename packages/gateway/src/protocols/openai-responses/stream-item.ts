import { LIMITS } from "../../core/limits.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { type Fields, isObject, wordOf } from "../field-checks.ts";
import { readToolName } from "../tool-names.ts";
import { readAnnotation, readItemAnnotation } from "./annotations.ts";

const DIALECT = "openai-responses";
/** What separates the parts of one item's summary in canonical text. */
const PARAGRAPH = "\n\n";

type PieceKind = "text" | "refusal" | "reasoning" | "call";

/**
 * One output item of a stream. What it has said is counted, so that events which repeat the whole (`done`) add what is still
 * missing and nothing twice: some servers send no deltas, some send only the last event.
 */
export class StreamItem {
  readonly #nextCall: () => number;
  /** Characters said, by part of the item. */
  readonly #said = new Map<string, number>();
  #call: { index: number; custom: boolean } | null = null;
  #described = false;
  #ended = false;
  #annotated = false;
  #reasoned = false;
  /** Arguments that came before anything said whose they are. */
  #early = "";

  constructor(nextCall: () => number) {
    this.#nextCall = nextCall;
  }

  sawAnnotation(): void {
    this.#annotated = true;
  }

  /** The item as `added` or `done` has it. Begins a call. */
  describe(item: Fields, parts: StreamPart[]): void {
    if (this.#described) return;
    this.#described = true;
    const type = item["type"];
    if (type !== "function_call" && type !== "custom_tool_call") return;
    const custom = type === "custom_tool_call";
    this.#call = { index: this.#nextCall(), custom };
    parts.push({
      type: "tool_start",
      choice: 0,
      index: this.#call.index,
      id: wordOf(item["call_id"] ?? item["id"]),
      name: readToolName(wordOf(item["name"])),
      ...(custom && { custom: true as const }),
    });
    if (this.#early !== "") this.#sayArguments(this.#early, parts);
    this.#early = "";
  }

  /** A delta, or a `done` that repeats the whole. */
  piece(of: PieceKind, event: Fields, field: string, whole: boolean, parts: StreamPart[]): void {
    const value = event[field];
    const text = typeof value === "string" ? value : isObject(value) ? JSON.stringify(value) : "";
    if (this.#ended) return;
    if (of === "call") {
      if (!this.#call) {
        this.#early = whole ? text : this.#early + text;
        if (this.#early.length > LIMITS.preambleBytesMax) throw new Error("a tool call sends arguments and no name");
      }
      if (this.#call) this.#sayArguments(whole ? text.slice(this.#count("call")) : text, parts);
      return;
    }
    const place = placeOf(of, event);
    const logprobs =
      !whole && Array.isArray(event["logprobs"]) && event["logprobs"].length > 0 ? event["logprobs"] : null;
    this.#say(of, place, whole ? text.slice(this.#count(place)) : text, parts, logprobs);
  }

  /** The end of the item: `item` is all of it, null when only the stream's end says so. */
  end(item: Fields | null, parts: StreamPart[]): void {
    if (this.#ended) return;
    if (item) this.#catchUp(item, parts);
    else if (!this.#call) return;
    this.#ended = true;
    if (this.#call) parts.push({ type: "tool_end", choice: 0, index: this.#call.index });
  }

  #catchUp(item: Fields, parts: StreamPart[]): void {
    if (this.#call) {
      const given = this.#call.custom ? item["input"] : item["arguments"];
      const text = typeof given === "string" ? given : given ? JSON.stringify(given) : "";
      this.#sayArguments(text.slice(this.#count("call")), parts);
      return;
    }
    if (item["type"] === "message") return this.#catchUpMessage(item, parts);
    if (item["type"] !== "reasoning") {
      for (const annotation of readItemAnnotation(item)) parts.push({ type: "annotation", choice: 0, annotation });
      return;
    }
    for (const [list, prefix] of [
      ["summary", "s"],
      ["content", "c"],
    ] as const) {
      listOf(item[list]).forEach((piece, index) => {
        const text = typeof piece["text"] === "string" ? piece["text"] : "";
        this.#say("reasoning", `${prefix}${index}`, text.slice(this.#count(`${prefix}${index}`)), parts, null);
      });
    }
    const sealed = item["encrypted_content"];
    if (typeof sealed === "string" && sealed !== "") {
      parts.push({ type: "reasoning", choice: 0, text: "", encrypted: { dialect: DIALECT, value: sealed } });
    }
  }

  #catchUpMessage(item: Fields, parts: StreamPart[]): void {
    listOf(item["content"]).forEach((part, index) => {
      const refuses = part["type"] === "refusal";
      const value = refuses ? part["refusal"] : part["text"];
      const place = `${refuses ? "r" : "t"}${index}`;
      const text = typeof value === "string" ? value : "";
      this.#say(refuses ? "refusal" : "text", place, text.slice(this.#count(place)), parts, null);
      if (this.#annotated) return;
      for (const annotation of Array.isArray(part["annotations"]) ? part["annotations"] : []) {
        parts.push({ type: "annotation", choice: 0, annotation: readAnnotation(annotation) });
      }
    });
  }

  #say(
    of: Exclude<PieceKind, "call">,
    place: string,
    text: string,
    parts: StreamPart[],
    logprobs: unknown[] | null,
  ): void {
    if (text === "" && !logprobs) return;
    const first = !this.#said.has(place);
    if (first && this.#said.size === LIMITS.streamItemsMax)
      throw new Error(`an item with over ${LIMITS.streamItemsMax} parts`);
    this.#said.set(place, this.#count(place) + text.length);
    if (of === "reasoning") {
      const gap = first && this.#reasoned ? PARAGRAPH : "";
      this.#reasoned = true;
      parts.push({ type: "reasoning", choice: 0, text: gap + text });
    } else if (of === "text") {
      parts.push({ type: "text", choice: 0, text, ...(logprobs && { logprobs }) });
    } else {
      parts.push({ type: "refusal", choice: 0, text });
    }
  }

  #sayArguments(text: string, parts: StreamPart[]): void {
    if (text === "" || !this.#call) return;
    this.#said.set("call", this.#count("call") + text.length);
    parts.push({ type: "tool_arguments", choice: 0, index: this.#call.index, text });
  }

  #count(place: string): number {
    return this.#said.get(place) ?? 0;
  }
}

function placeOf(of: Exclude<PieceKind, "call">, event: Fields): string {
  if (of === "text") return `t${wordOf(event["content_index"] ?? 0)}`;
  if (of === "refusal") return `r${wordOf(event["content_index"] ?? 0)}`;
  const summary = event["summary_index"];
  return summary === undefined ? `c${wordOf(event["content_index"] ?? 0)}` : `s${wordOf(summary)}`;
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
