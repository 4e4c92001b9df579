import { LIMITS } from "../../core/limits.ts";
import type { Signature, StreamPart } from "../../core/stream-part.ts";
import { madeCallId } from "../call-ids.ts";
import { type Fields, isAbsent, isObject } from "../field-checks.ts";
import { readToolName } from "../tool-names.ts";
import { googleSignature } from "./reasoning.ts";

const NONE: ReadonlyMap<string, Signature> = new Map();

/** One call while it streams. */
interface OpenCall {
  index: number;
  id: string;
  /** Empty until the upstream has said it. */
  name: string;
  /** Arguments that came before the name. */
  held: string;
  custom: boolean;
  signature: Signature | undefined;
}

/** What one fragment says, whatever its shape. */
interface Fragment {
  /** The upstream's own index; some leave it out. */
  wire: number | null;
  id: string | null;
  name: string | null;
  text: string;
  custom: boolean;
  signature: Signature | undefined;
}

/**
 * The tool calls of one choice, put together from their fragments. Later fragments of a call carry only its index; some
 * upstreams leave the index out, or use 0 again under a new id: a new id is a new call. A name may come after the first
 * arguments, and an empty name never replaces one. Grows with the number of calls, never with their arguments.
 */
export class ToolCalls {
  readonly #choice: number;
  readonly #answerId: () => string;
  /** The call that each of the upstream's indices means now. */
  readonly #calls = new Map<number, OpenCall>();
  /** The same by id, for upstreams that leave the index out. */
  readonly #byId = new Map<string, OpenCall>();
  #last: OpenCall | null = null;
  #opened = 0;

  /** `answerId` makes the ids of calls that came without one differ from those of other answers. */
  constructor(choice: number, answerId: () => string = () => "") {
    this.#choice = choice;
    this.#answerId = answerId;
  }

  /** True once there was a call. */
  get any(): boolean {
    return this.#opened > 0;
  }

  /** Reads the fragments of one delta. `signatures` are those that hang on calls, by id, where they come beside them. */
  read(fragments: readonly unknown[], parts: StreamPart[], signatures: ReadonlyMap<string, Signature> = NONE): void {
    const given = fragments.filter(isObject).map(fragmentOf);
    const touched = new Set<OpenCall>();
    given.forEach((fragment, position) => {
      let call = this.#callOf(fragment, given.length === 1 ? null : position);
      // Two names at one index in one delta are two calls, of an upstream that numbers and names none (seen of Gemini).
      if (call && touched.has(call) && fragment.name !== null && fragment.id === null) call = null;
      call ??= this.#open(fragment, parts);
      touched.add(call);
      this.#last = call;
      call.signature ??= fragment.signature ?? signatures.get(fragment.id ?? "");
      this.#add(call, fragment, parts);
    });
  }

  /** The end of the choice: ends every call that began. One that never got its name begins and ends here. */
  end(parts: StreamPart[]): void {
    for (const call of this.#calls.values()) this.#close(call, parts);
    this.#calls.clear();
    this.#byId.clear();
    this.#last = null;
  }

  /** The call a fragment goes on with; null: it begins a new one. */
  #callOf({ wire, id, name }: Fragment, position: number | null): OpenCall | null {
    if (wire === null) {
      if (id !== null) return this.#byId.get(id) ?? null;
      const call = position === null ? this.#last : this.#calls.get(position);
      // Without index and id, a name begins a call, unless the one at hand still waits for it.
      return call && (name === null || call.name === "") ? call : null;
    }
    const call = this.#calls.get(wire);
    if (!call) return null;
    if (id !== null && call.id !== "") return call.id === id ? call : null;
    // Nobody has an id: another name at the same index is another call.
    return id === null && call.id === "" && name !== null && call.name !== "" && name !== call.name ? null : call;
  }

  #open({ wire, id, custom }: Fragment, parts: StreamPart[]): OpenCall {
    if (this.#opened === LIMITS.streamItemsMax)
      throw new Error(`a choice with over ${LIMITS.streamItemsMax} tool calls`);
    let key = wire ?? this.#opened;
    while (wire === null && this.#calls.has(key)) key++;
    const replaced = this.#calls.get(key);
    if (replaced) this.#close(replaced, parts);
    const call: OpenCall = { index: this.#opened++, id: id ?? "", name: "", held: "", custom, signature: undefined };
    this.#calls.set(key, call);
    this.#name(call);
    return call;
  }

  #add(call: OpenCall, { id, name, text }: Fragment, parts: StreamPart[]): void {
    if (call.id === "" && id !== null) {
      call.id = id;
      this.#name(call);
    }
    if (call.name === "" && name !== null) this.#start(call, name, parts);
    if (text === "") return;
    if (call.name !== "") {
      parts.push({ type: "tool_arguments", choice: this.#choice, index: call.index, text });
      return;
    }
    call.held += text;
    if (call.held.length > LIMITS.preambleBytesMax) throw new Error("a tool call sends arguments and no name");
  }

  #start(call: OpenCall, name: string, parts: StreamPart[]): void {
    const { index, held, custom, signature } = call;
    call.name = name;
    call.held = "";
    const id = call.id === "" ? madeCallId(this.#answerId(), this.#choice, index, name) : call.id;
    parts.push({
      type: "tool_start",
      choice: this.#choice,
      index,
      id,
      name: readToolName(name),
      ...(custom && { custom }),
      ...(signature && { signature }),
    });
    if (held !== "") parts.push({ type: "tool_arguments", choice: this.#choice, index, text: held });
  }

  /** The first call of an id keeps it. */
  #name(call: OpenCall): void {
    if (call.id !== "" && !this.#byId.has(call.id)) this.#byId.set(call.id, call);
  }

  #close(call: OpenCall, parts: StreamPart[]): void {
    if (this.#byId.get(call.id) === call) this.#byId.delete(call.id);
    if (call.name === "") this.#start(call, "", parts);
    parts.push({ type: "tool_end", choice: this.#choice, index: call.index });
  }
}

/** What a call of a free-text tool says; null for a function's. Some send both, the one that does not hold empty (Snowflake). */
export function customPart(call: Fields): Fields | null {
  const { custom } = call;
  if (!isObject(custom)) return null;
  return isObject(call["function"]) && (call["type"] === "function" || !custom["name"]) ? null : custom;
}

function fragmentOf(call: Fields): Fragment {
  const custom = customPart(call);
  const body = custom ?? (isObject(call["function"]) ? call["function"] : {});
  const given = body["arguments"] ?? body["input"];
  return {
    wire: typeof call["index"] === "number" ? call["index"] : null,
    id: textOf(call["id"]),
    name: textOf(body["name"]),
    custom: custom !== null,
    signature: call["extra_content"] === undefined ? undefined : googleSignature(call),
    // A string as a rule; some send the object itself.
    text: typeof given === "string" ? given : isAbsent(given) ? "" : JSON.stringify(given),
  };
}

/** A string with something in it; null for all else. */
function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
