import { GatheredText } from "../../core/gathered-text.ts";
import type { Annotation } from "../../core/message.ts";
import type { FinishReason, Signature, StreamPart } from "../../core/stream-part.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { type SignedThing, wrapSignature } from "../signature.ts";
import { customInput, parsedArguments } from "../tool-arguments.ts";
import { ownId } from "./ids.ts";
import { incompleteReason } from "./response-object.ts";
import { UNSIGNED } from "./seal.ts";
import { type ToolName, toolNames } from "./tool-names.ts";

const DIALECT = "openai-responses";

/** Says an event; `sequence_number` is not its business. */
export type Emit = (type: string, fields: Fields) => void;

/** A message or a thought that is being written. */
interface OpenItem {
  kind: "message" | "reasoning";
  id: string;
  index: number;
  /** Finished parts of a message. */
  parts: Fields[];
  part: OpenPart | null;
}

/** One part of it. */
interface OpenPart {
  kind: "output_text" | "refusal" | "summary_text";
  text: GatheredText;
  logprobs: unknown[];
  annotations: unknown[];
}

/** A tool call that is being written. Calls may interleave: each has its place in the output. */
interface OpenCall {
  id: string;
  index: number;
  callId: string;
  tool: ToolName;
  /** The provider speaks of it as a function with one text argument: the text is known when all of it is there. */
  wrapped: boolean;
  text: GatheredText;
}

/**
 * The output of one translated answer, item by item, in the order of events that SDKs expect (WIRE A2.3). Work is constant a
 * part, except that each item's text is gathered, and told again when it closes.
 */
export class Output {
  readonly #requestId: string;
  readonly #emit: Emit;
  readonly #names: ReadonlyMap<string, ToolName>;
  /** The client means to send thoughts back, and some clients send only those that are sealed. */
  readonly #seals: boolean;
  /** Items by their place; one that is open is null. */
  readonly #items: (Fields | null)[] = [];
  readonly #calls = new Map<number, OpenCall>();
  #open: OpenItem | null = null;
  /** Citations that came before their text. */
  #pending: Annotation[] = [];
  finish: FinishReason | null = null;

  /** `body`: the client's request. */
  constructor(requestId: string, body: Fields, emit: Emit) {
    this.#requestId = requestId;
    this.#names = toolNames(body);
    this.#seals = Array.isArray(body["include"]) && body["include"].includes("reasoning.encrypted_content");
    this.#emit = emit;
  }

  /** The items so far; complete after `close`. */
  get items(): Fields[] {
    return this.#items.filter((item) => item !== null);
  }

  /** Takes one part; starts, usage and errors are not its business. */
  write(part: StreamPart): void {
    switch (part.type) {
      case "text":
        if (part.text !== "" || part.logprobs) this.#text("output_text", part.text, part.logprobs);
        return;
      case "refusal":
        if (part.text !== "") this.#text("refusal", part.text);
        return;
      case "reasoning":
        return this.#reasoning(part);
      case "tool_start":
        return this.#toolStart(part);
      case "tool_arguments":
        return this.#toolArguments(part.index, part.text);
      case "tool_end":
        return this.#toolEnd(part.index);
      case "annotation":
        return this.#annotation(part.annotation);
      case "finish":
        this.finish = part.reason;
        return;
      default:
    }
  }

  /** Closes whatever is open, in order. */
  close(): void {
    if (this.#pending.length > 0) this.#text("output_text", "");
    this.#closeOpen();
    for (const index of [...this.#calls.keys()]) this.#toolEnd(index);
  }

  #text(kind: "output_text" | "refusal", text: string, logprobs: unknown[] = []): void {
    if (this.#open?.kind !== "message") this.#openItem("message");
    const open = this.#open as OpenItem;
    if (open.part?.kind !== kind) this.#openPart(open, kind);
    const part = open.part as unknown as OpenPart;
    for (const citation of this.#pending.splice(0)) this.#cite(open, part, citation);
    if (text === "" && logprobs.length === 0) return;
    part.text.add(text);
    for (const entry of logprobs) part.logprobs.push(entry);
    const { id, index } = open;
    const at = open.parts.length;
    // Every member by its name, for each piece: spreading and adding would cost as much as writing the event.
    this.#emit(
      `response.${kind}.delta`,
      kind === "refusal"
        ? { item_id: id, output_index: index, content_index: at, delta: text }
        : { item_id: id, output_index: index, content_index: at, delta: text, logprobs },
    );
  }

  #reasoning({ text, signature, encrypted }: StreamPart & { type: "reasoning" }): void {
    if (this.#open?.kind !== "reasoning") {
      if (text === "" && !signature && !encrypted) return;
      this.#openItem("reasoning");
    }
    const open = this.#open as OpenItem;
    if (text !== "") {
      if (!open.part) this.#openPart(open, "summary_text");
      (open.part as unknown as OpenPart).text.add(text);
      const { id, index } = open;
      const at = { item_id: id, output_index: index, summary_index: 0, delta: text };
      this.#emit("response.reasoning_summary_text.delta", at);
    }
    if (encrypted) this.#closeOpen(sealed(encrypted, "encrypted"));
    else if (signature) this.#closeOpen(sealed(signature, "text"));
  }

  #toolStart({ index, id, name, custom, signature }: StreamPart & { type: "tool_start" }): void {
    this.#closeOpen();
    if (signature && signature.dialect !== DIALECT) {
      this.#openItem("reasoning");
      this.#closeOpen(sealed(signature, "call"));
    }
    const tool = this.#names.get(name) ?? { name, namespace: null, custom: custom === true };
    const place = this.#items.push(null) - 1;
    const call: OpenCall = {
      id: ownId(tool.custom ? "ctc" : tool.search ? "tsc" : "fc", this.#requestId, place),
      index: place,
      callId: id,
      tool,
      wrapped: tool.custom && !custom,
      text: new GatheredText(),
    };
    this.#calls.set(index, call);
    this.#emit("response.output_item.added", { output_index: place, item: callItem(call, "in_progress", "") });
  }

  #toolArguments(index: number, text: string): void {
    const call = this.#calls.get(index);
    if (!call || text === "") return;
    call.text.add(text);
    if (!call.wrapped) this.#callDelta(call, text);
  }

  #callDelta(call: OpenCall, delta: string): void {
    // The vendor streams no part of a search.
    if (call.tool.search) return;
    const event = call.tool.custom ? "custom_tool_call_input" : "function_call_arguments";
    this.#emit(`response.${event}.delta`, { item_id: call.id, output_index: call.index, delta });
  }

  #toolEnd(index: number): void {
    const call = this.#calls.get(index);
    if (!call) return;
    this.#calls.delete(index);
    let text = call.text.whole();
    if (call.wrapped) text = customInput(text);
    else if (text === "" && !call.tool.custom) text = "{}";
    if (call.wrapped || call.text.isEmpty) if (text !== "") this.#callDelta(call, text);
    const at = { item_id: call.id, output_index: call.index };
    if (call.tool.custom) this.#emit("response.custom_tool_call_input.done", { ...at, input: text });
    else if (!call.tool.search) this.#emit("response.function_call_arguments.done", { ...at, arguments: text });
    this.#done(call.index, callItem(call, this.#status(), text));
  }

  #annotation(annotation: Annotation): void {
    if (annotation.type === "url_citation") {
      const part = this.#open?.part;
      if (this.#open && part?.kind === "output_text") this.#cite(this.#open, part, annotation);
      else this.#pending.push(annotation);
    } else if (annotation.type === "media" && annotation.mediaType.startsWith("image/")) {
      this.#image(annotation.mediaType, annotation.data);
    } else if (annotation.type === "opaque" && annotation.dialect === DIALECT && isObject(annotation.value)) {
      this.#closeOpen();
      const place = this.#items.push(null) - 1;
      this.#emit("response.output_item.added", { output_index: place, item: annotation.value });
      this.#done(place, annotation.value);
    }
  }

  #cite(open: OpenItem, part: OpenPart, citation: Annotation): void {
    if (citation.type !== "url_citation") return;
    const annotation = {
      type: "url_citation",
      start_index: citation.start ?? 0,
      end_index: citation.end ?? 0,
      url: citation.url,
      title: citation.title ?? "",
    };
    this.#emit("response.output_text.annotation.added", {
      item_id: open.id,
      output_index: open.index,
      content_index: open.parts.length,
      annotation_index: part.annotations.push(annotation) - 1,
      annotation,
    });
  }

  #image(mediaType: string, data: string): void {
    this.#closeOpen();
    const place = this.#items.push(null) - 1;
    const id = ownId("ig", this.#requestId, place);
    const item = { id, type: "image_generation_call", status: "in_progress", result: null };
    const at = { item_id: id, output_index: place };
    this.#emit("response.output_item.added", { output_index: place, item });
    this.#emit("response.image_generation_call.in_progress", at);
    this.#emit("response.image_generation_call.completed", at);
    const format = mediaType.slice("image/".length);
    this.#done(place, { ...item, status: "completed", result: data, output_format: format });
  }

  #openItem(kind: OpenItem["kind"]): void {
    this.#closeOpen();
    const index = this.#items.push(null) - 1;
    const id = ownId(kind === "message" ? "msg" : "rs", this.#requestId, index);
    this.#open = { kind, id, index, parts: [], part: null };
    const item =
      kind === "message"
        ? { id, type: "message", status: "in_progress", content: [], role: "assistant" }
        : { id, type: "reasoning", summary: [] };
    this.#emit("response.output_item.added", { output_index: index, item });
  }

  #openPart(open: OpenItem, kind: OpenPart["kind"]): void {
    this.#closePart(open);
    open.part = { kind, text: new GatheredText(), logprobs: [], annotations: [] };
    this.#emit(partEvent(kind, "added"), { ...placeOf(open), part: partObject(open.part, "") });
  }

  #closePart(open: OpenItem): void {
    const { part } = open;
    if (!part) return;
    const text = part.text.whole();
    const at = placeOf(open);
    const finished = partObject(part, text);
    if (part.kind === "summary_text") this.#emit("response.reasoning_summary_text.done", { ...at, text });
    else if (part.kind === "refusal") this.#emit("response.refusal.done", { ...at, refusal: text });
    else this.#emit("response.output_text.done", { ...at, text, logprobs: part.logprobs });
    this.#emit(partEvent(part.kind, "done"), { ...at, part: finished });
    open.parts.push(finished);
    open.part = null;
  }

  #closeOpen(encryptedContent?: string): void {
    const open = this.#open;
    if (!open) return;
    this.#closePart(open);
    this.#open = null;
    const { id, parts } = open;
    if (open.kind === "message") {
      this.#done(open.index, { id, type: "message", status: this.#status(), content: parts, role: "assistant" });
      return;
    }
    const seal = encryptedContent ?? (this.#seals ? UNSIGNED : undefined);
    this.#done(open.index, {
      id,
      type: "reasoning",
      summary: parts,
      ...(seal !== undefined && { encrypted_content: seal }),
    });
  }

  #done(index: number, item: Fields): void {
    this.#items[index] = item;
    this.#emit("response.output_item.done", { output_index: index, item });
  }

  #status(): string {
    return incompleteReason(this.finish) === null ? "completed" : "incomplete";
  }
}

function sealed(signature: Signature, on: SignedThing): string {
  return wrapSignature(signature, on, DIALECT);
}

function placeOf({ kind, id, index, parts }: OpenItem): Fields {
  const place = kind === "message" ? "content_index" : "summary_index";
  return { item_id: id, output_index: index, [place]: parts.length };
}

function partEvent(kind: OpenPart["kind"], what: "added" | "done"): string {
  return kind === "summary_text" ? `response.reasoning_summary_part.${what}` : `response.content_part.${what}`;
}

function partObject({ kind, annotations, logprobs }: OpenPart, text: string): Fields {
  if (kind === "summary_text") return { type: kind, text };
  if (kind === "refusal") return { type: kind, refusal: text };
  // Copies: what was said in an event does not change when more comes.
  return { type: kind, annotations: [...annotations], logprobs: [...logprobs], text };
}

function callItem({ id, callId, tool }: OpenCall, status: string, text: string): Fields {
  const namespace = tool.namespace === null ? {} : { namespace: tool.namespace };
  if (tool.custom)
    return { id, type: "custom_tool_call", status, call_id: callId, input: text, name: tool.name, ...namespace };
  if (tool.search) {
    const query = parsedArguments(text) ?? {};
    return { id, type: "tool_search_call", status, call_id: callId, execution: "client", arguments: query };
  }
  return { id, type: "function_call", status, arguments: text, call_id: callId, name: tool.name, ...namespace };
}
