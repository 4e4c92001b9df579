import { noUsage, type Usage } from "@sluicegate/contract";
import { GatheredText } from "../../core/gathered-text.ts";
import type { Signature, StreamPart } from "../../core/stream-part.ts";
import type { Fields } from "../field-checks.ts";
import { mergeUsage } from "../protocol.ts";
import { customInput } from "../tool-arguments.ts";
import type { Shown, StreamWriter } from "../translation.ts";
import { sayAnnotation } from "./annotations.ts";
import { answerId, type ClientTools, clientTools } from "./client-tools.ts";
import { finishWord } from "./finish.ts";
import { callDetail, detailsOf, googleContent } from "./reasoning.ts";
import { renderUsage } from "./usage.ts";

/** A text that is longer is not kept: its signature goes alone. */
const THOUGHT_CHARS_MAX = 1_000_000;
const DONE = "data: [DONE]\n\n";

/** A call of one choice, as the client knows it. */
interface Call {
  /** Position among the choice's calls. */
  index: number;
  /** What came of a call that was made as a function's and is a custom tool's: its input can only be read when it is whole. */
  held: GatheredText | null;
  custom: boolean;
  /** Arguments have come. */
  said: boolean;
}

/** One choice while it streams. */
interface Choice {
  calls: Map<number, Call>;
  opened: number;
  finished: boolean;
  /** What came of the reasoning block that is open: a signature needs the whole text beside it. */
  thought: GatheredText;
  thoughtChars: number;
  /** Entries of `reasoning_details` so far. */
  details: number;
}

type PartOf<Type extends StreamPart["type"]> = Extract<StreamPart, { type: Type }>;

/**
 * Writes a stream of chunks in the order of WIRE A1.4: role, deltas, finish; at the end the usage chunk, if the client asked
 * for it, and the end mark. Nothing is written before there is something to say.
 */
export function streamWriter(shown: Shown): StreamWriter {
  return new ChatWriter(shown);
}

class ChatWriter implements StreamWriter {
  readonly #shown: Shown;
  readonly #tools: ClientTools;
  readonly #choices = new Map<number, Choice>();
  #model: string;
  #usage: Usage | null = null;
  /** The part of every chunk that never changes. */
  #head = "";

  constructor(shown: Shown) {
    this.#shown = shown;
    this.#tools = clientTools(shown);
    this.#model = shown.model;
  }

  write(part: StreamPart): Buffer | null {
    switch (part.type) {
      case "start":
        this.#model = part.model ?? this.#model;
        return null;
      case "usage":
        this.#usage = mergeUsage(this.#usage ?? noUsage(), part.usage);
        return null;
      case "error":
        return null;
      default: {
        const text = this.#say(part);
        return text === "" ? null : Buffer.from(text);
      }
    }
  }

  end(metadata: Record<string, unknown> | null): Buffer {
    const { showsUsage } = this.#shown.call;
    const usage = showsUsage && this.#usage ? renderUsage(this.#usage) : null;
    const closing = this.#closing();
    if (!usage && !metadata) return Buffer.from(closing + DONE);
    const last = { choices: [], ...(showsUsage && { usage }), ...(metadata && { gateway_metadata: metadata }) };
    return Buffer.from(`${closing}data: ${this.#opening()},${JSON.stringify(last).slice(1)}\n\n${DONE}`);
  }

  /** Finish reasons for choices that ended without saying why. */
  #closing(): string {
    let text = "";
    for (const [index, choice] of this.#choices) {
      if (!choice.finished) text += this.#say({ type: "finish", choice: index, reason: "stop" });
    }
    return text;
  }

  #say(part: Exclude<StreamPart, PartOf<"start" | "usage" | "error">>): string {
    let text = "";
    let choice = this.#choices.get(part.choice);
    if (!choice) {
      choice = {
        calls: new Map(),
        opened: 0,
        finished: false,
        thought: new GatheredText(),
        thoughtChars: 0,
        details: 0,
      };
      this.#choices.set(part.choice, choice);
      // An answer that begins with a call has no content.
      const content = part.type === "tool_start" ? null : "";
      text = this.#chunk(part.choice, { role: "assistant", content, refusal: null });
    }
    // Behind the finish reason nothing can be said.
    if (choice.finished) return text;
    if (part.type !== "reasoning") endThought(choice);
    return text + this.#sayIn(choice, part);
  }

  #sayIn(choice: Choice, part: Exclude<StreamPart, PartOf<"start" | "usage" | "error">>): string {
    switch (part.type) {
      case "text":
        return this.#chunk(part.choice, { content: part.text }, part.logprobs);
      case "reasoning":
        return this.#reasoning(choice, part);
      case "refusal":
        return this.#chunk(part.choice, { refusal: part.text });
      case "tool_start":
        return this.#toolStart(choice, part);
      case "tool_arguments":
        return this.#toolArguments(choice, part);
      case "tool_end":
        return this.#toolEnd(choice, part);
      case "annotation": {
        const delta = sayAnnotation(part.annotation);
        return delta ? this.#chunk(part.choice, delta) : "";
      }
      case "finish": {
        choice.finished = true;
        const reason = part.reason === "stop" && choice.opened > 0 ? "tool_calls" : part.reason;
        return this.#chunk(part.choice, {}, undefined, finishWord(reason, this.#tools.older));
      }
    }
  }

  /**
   * The text for everybody, and once more, whole, beside what proves it: clients that send thoughts back put nothing
   * together that way, and the official SDKs keep the last of a member they do not know.
   */
  #reasoning(choice: Choice, { choice: index, text, signature, encrypted }: PartOf<"reasoning">): string {
    const delta: Fields = text === "" ? {} : { reasoning_content: text };
    choice.thoughtChars += text.length;
    if (text !== "" && choice.thoughtChars <= THOUGHT_CHARS_MAX) choice.thought.add(text);
    if (signature || encrypted) {
      const whole = choice.thoughtChars <= THOUGHT_CHARS_MAX ? choice.thought.whole() : "";
      const marks = { ...(signature && { signature }), ...(encrypted && { encrypted }) };
      const entries = detailsOf({ type: "reasoning", text: whole, ...marks }, choice.details);
      choice.details += entries.length;
      delta["reasoning_details"] = entries;
      endThought(choice);
    }
    return Object.keys(delta).length === 0 ? "" : this.#chunk(index, delta);
  }

  #toolStart(choice: Choice, part: PartOf<"tool_start">): string {
    const { id, name, signature } = part;
    const turned = part.custom !== true && this.#tools.custom.has(name);
    const custom = part.custom === true || turned;
    const call: Call = { index: choice.opened++, held: turned ? new GatheredText() : null, custom, said: false };
    choice.calls.set(part.index, call);
    if (this.#tools.older) {
      return call.index > 0 ? "" : this.#chunk(part.choice, { function_call: { name, arguments: "" } });
    }
    const header = custom
      ? { type: "custom", custom: { name, input: "" } }
      : { type: "function", function: { name, arguments: "" } };
    return this.#chunk(part.choice, {
      tool_calls: [{ index: call.index, id, ...header, ...(signature && { extra_content: googleContent(signature) }) }],
      ...(signature && this.#callDetails(choice, id, signature)),
    });
  }

  #callDetails(choice: Choice, id: string, signature: Signature): Fields {
    return { reasoning_details: [callDetail(id, signature, choice.details++)] };
  }

  #toolArguments(choice: Choice, { choice: index, index: wire, text }: PartOf<"tool_arguments">): string {
    const call = choice.calls.get(wire);
    if (!call || text === "") return "";
    call.said = true;
    if (call.held) {
      call.held.add(text);
      return "";
    }
    return this.#fragment(index, call, text);
  }

  #toolEnd(choice: Choice, { choice: index, index: wire }: PartOf<"tool_end">): string {
    const call = choice.calls.get(wire);
    if (!call) return "";
    choice.calls.delete(wire);
    if (call.held) {
      const input = customInput(call.held.whole());
      return input === "" ? "" : this.#fragment(index, call, input);
    }
    // A tool without parameters is called with `{}`.
    return call.said || call.custom ? "" : this.#fragment(index, call, "{}");
  }

  #fragment(index: number, call: Call, text: string): string {
    if (this.#tools.older) {
      return call.index > 0 ? "" : this.#chunk(index, { function_call: { arguments: text } });
    }
    const said = call.custom ? { custom: { input: text } } : { function: { arguments: text } };
    return this.#chunk(index, { tool_calls: [{ index: call.index, ...said }] });
  }

  #chunk(index: number, delta: Fields, logprobs?: readonly unknown[], finish: string | null = null): string {
    const choice = {
      index,
      delta,
      logprobs: logprobs ? { content: logprobs, refusal: null } : null,
      finish_reason: finish,
    };
    const usage = this.#shown.call.showsUsage ? ',"usage":null' : "";
    return `data: ${this.#opening()},"choices":[${JSON.stringify(choice)}]${usage}}\n\n`;
  }

  /** All chunks share it; the model is known with the first of them. */
  #opening(): string {
    if (this.#head === "") {
      const head = {
        id: answerId("chatcmpl-", this.#shown),
        object: "chat.completion.chunk",
        created: this.#shown.createdS,
        model: this.#model,
      };
      this.#head = JSON.stringify(head).slice(0, -1);
    }
    return this.#head;
  }
}

function endThought(choice: Choice): void {
  if (choice.thoughtChars === 0) return;
  choice.thought = new GatheredText();
  choice.thoughtChars = 0;
}
