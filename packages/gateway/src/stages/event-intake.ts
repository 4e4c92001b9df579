import type { Clock } from "../core/clock.ts";
import { joined } from "../core/joined.ts";
import { LIMITS } from "../core/limits.ts";
import type { EventSplitter, StreamEvent } from "../core/stream-event.ts";
import type { StreamFailure, StreamPart } from "../core/stream-part.ts";
import { missingBlankLine, SseSplitter } from "../http/sse-splitter.ts";
import { holdsError } from "../protocols/error-facts.ts";
import { isObject } from "../protocols/field-checks.ts";
import type { Dresser, EventReading, Protocol, Quirks, RepeatedEvents, StreamReader } from "../protocols/protocol.ts";
import type { StreamWriter } from "../protocols/translation.ts";
import { type Meter, meterPart } from "./meter.ts";

/** What a stream is framed as, where its protocol has no framing of its own. */
const SSE = /^text\/event-stream\b/i;
const LF = Buffer.from("\n");
/** A blank line's CR, in a stream whose lines end with CRLF. */
const HALF_CRLF = /^\n\r$/;

/** Whether a body of this content type is a stream of the protocol's, cut into events. */
export function isFramed({ framing }: Protocol, contentType = ""): boolean {
  return (framing?.contentType ?? SSE).test(contentType);
}

/** What is to be known of a stream in order to read it. */
export interface IntakeSpec {
  protocol: Protocol;
  quirks: Quirks;
  /** Says the stream in the client's dialect; null where its bytes go on. */
  writer: StreamWriter | null;
  /** Changes the bytes that go on; null: nothing. */
  dresser: Dresser | null;
  /** Answers asked for (`n`): each has a finish reason of its own. */
  choices: number;
  /** The client asked to see usage: its chunk is forwarded. */
  showsUsage: boolean;
  /** Keep the upstream's end mark back, because something goes before it. */
  holdTerminator: boolean;
}

/** What one piece of a stream came to. */
export interface Taken {
  /** What the client may see of it, whole events in one piece; null: nothing. */
  bytes: Buffer | null;
  /** The provider said an error: what came after it is not looked at. */
  said: StreamFailure | null;
  /** The stream is not of the protocol. */
  broken: string | null;
}

/** Reads an upstream's stream for the meter and picks the bytes that go on. Holds at most one event. */
export class EventIntake {
  readonly #spec: IntakeSpec;
  readonly #meter: Meter;
  readonly #clock: Clock;
  readonly #splitter: EventSplitter;
  readonly #reader: StreamReader;
  /** Knows the events that go on as they are; null where none does. */
  readonly #passed: RepeatedEvents | null;
  #said: StreamFailure | null = null;
  /** Bytes that a translated stream may make its writer keep. */
  #weight = 0;
  /** The upstream's end mark has come; what comes behind it is nothing. */
  sawTerminator = false;
  /** The end mark is among the bytes that went on. */
  terminated = false;
  /** The upstream's end mark, where it was kept back. */
  heldTerminator: Buffer | null = null;

  constructor(spec: IntakeSpec, meter: Meter, clock: Clock) {
    this.#spec = spec;
    this.#meter = meter;
    this.#clock = clock;
    this.#splitter = spec.protocol.framing?.splitter() ?? new SseSplitter(LIMITS.sseEventBytesMax);
    this.#reader = spec.protocol.streamReader(spec.quirks);
    this.#passed = spec.writer || spec.dresser ? null : (this.#reader.repeats ?? null);
  }

  /** Every choice has its finish reason. */
  get finished(): boolean {
    return this.#meter.finishes >= this.#spec.choices;
  }

  push(chunk: Buffer): Taken {
    // Lent bytes have been looked at so before; those of a decoder, or of a proxied call, have not.
    if (this.passes(chunk, 0, chunk.length)) return { bytes: chunk, said: null, broken: null };
    return this.#take((forward) => this.#splitter.push(chunk, (event) => this.#onEvent(event, forward)));
  }

  /**
   * Most reads of a stream bring one event that is the one before it but for its text. Where its bytes go on as they are,
   * its characters are counted where they stand. True when all that stands in `bytes` from `from` to `to` is such events.
   */
  passes(bytes: Buffer, from: number, to: number): boolean {
    const repeats = this.#passed;
    if (!repeats || this.#splitter.isBetween !== true) return false;
    let chars = 0;
    let end = from;
    while (end < to) {
      const at = end;
      end = repeats.endOf(bytes, at);
      if (end === -1 || end > to || end - at > LIMITS.sseEventBytesMax) return false;
      chars += repeats.charsIn(bytes);
    }
    this.#meter.outputChars += chars;
    return end > from;
  }

  /**
   * What `push` would make of the bytes, where they are one event that is the one before it but for its text, and that is said
   * anew in another dialect: told where it stands, without a look for its lines. Null, and nothing done, for any other.
   */
  translates(bytes: Buffer, from: number, to: number): Taken | null {
    const { repeats } = this.#reader;
    if (!this.#spec.writer || !repeats || this.#splitter.isBetween !== true || this.sawTerminator || this.#said)
      return null;
    if (to - from > LIMITS.sseEventBytesMax || repeats.endOf(bytes, from) !== to) return null;
    const { parts } = repeats.readingOf(bytes);
    return this.#take((forward) => {
      this.#weigh(to - from, parts);
      for (const part of parts) this.#tell(part, forward);
    });
  }

  end(): Taken {
    return this.#take((forward) => {
      this.#splitter.end((event) => this.#onEvent(event, forward));
      // Whatever is said after an event without its blank line would be taken for more of it. After an end mark nothing is.
      const last = forward[forward.length - 1];
      if (last && !this.sawTerminator && !this.#spec.writer) forward.push(missingBlankLine(last));
    });
  }

  /** Writers keep what a dialect says only once it is whole, or repeats at its end: held to what a whole answer may be. */
  #weigh(eventBytes: number, parts: readonly StreamPart[]): void {
    this.#weight += weightOf(eventBytes, parts);
    if (this.#weight > LIMITS.translatedStreamBytesMax)
      throw new Error(`the stream says more than the ${LIMITS.translatedStreamBytesMax} bytes that can be translated`);
  }

  #read(data: string, { name, raw }: StreamEvent): EventReading {
    const { repeats } = this.#reader;
    if (repeats?.endOf(raw, 0) === raw.length) return repeats.readingOf(raw);
    const reading = this.#reader.read(data, name);
    repeats?.learn(raw);
    return reading;
  }

  #take(read: (forward: Buffer[]) => void): Taken {
    const forward: Buffer[] = [];
    let broken: string | null = null;
    try {
      read(forward);
    } catch (error) {
      broken = error instanceof Error ? error.message : String(error);
    }
    return { bytes: forward.length === 0 ? null : joined(forward), said: this.#said, broken };
  }

  /** Any part but an error. */
  #tell(part: StreamPart, forward: Buffer[]): void {
    // Nobody asks for the time but of the first output.
    meterPart(this.#meter, part, this.#meter.firstOutputAt ?? this.#clock.monotonic());
    const said = this.#spec.writer?.write(part);
    if (said) forward.push(said);
  }

  #onEvent(event: StreamEvent, forward: Buffer[]): void {
    if (this.#said || this.sawTerminator) return;
    const { writer, dresser } = this.#spec;
    const data = event.data ?? bareError(event.raw);
    if (data === null) {
      // Comments of another dialect's server are its own affair.
      if (!writer) forward.push(dresser ? dresser.event(event.raw, null) : event.raw);
      return;
    }
    const reading = this.#read(data, event);
    if (writer) this.#weigh(event.raw.length, reading.parts);
    for (const part of reading.parts) {
      if (part.type !== "error") {
        this.#tell(part, forward);
      } else if (!this.finished) {
        // Behind the last finish reason the answer is whole: what is said of it then goes on as it came (OpenRouter).
        this.#said = part.failure;
        return;
      }
    }
    if (reading.terminator) {
      this.sawTerminator = true;
      if (writer) return;
      if (this.#spec.holdTerminator) {
        this.heldTerminator = dresser ? dresser.event(event.raw, data) : event.raw;
        return;
      }
      this.terminated = true;
    }
    if (writer || (reading.usageOnly && !this.#spec.showsUsage)) return;
    forward.push(dresser ? dresser.event(event.raw, data) : event.raw);
    // What follows an end mark is not waited for: where its last CRLF was cut in two, the LF is still to come.
    if (reading.terminator && HALF_CRLF.test(event.raw.toString("latin1", event.raw.length - 2))) forward.push(LF);
  }
}

/** What a piece of an answer costs in memory beside its characters, in bytes. */
const PART_BYTES = 64;

/** What a writer may have to keep of an event: its text, or all of it where it says more than text. */
function weightOf(eventBytes: number, parts: readonly StreamPart[]): number {
  let weight = parts.length * PART_BYTES;
  let plain = true;
  for (const part of parts) {
    if (part.type === "text" || part.type === "refusal" || part.type === "tool_arguments") weight += part.text.length;
    else if (part.type !== "usage" && part.type !== "finish" && part.type !== "tool_end") plain = false;
    if (part.type === "text" && part.logprobs) plain = false;
  }
  return plain ? weight : weight + eventBytes;
}

/** Google and servers of open models say an error inside a stream as JSON without a field's name: to SSE, lines to skip. */
function bareError(raw: Buffer): string | null {
  const text = raw.toString("utf8").trim();
  if (!/^[[{]/.test(text)) return null;
  try {
    const value: unknown = JSON.parse(text);
    const [first] = Array.isArray(value) ? value : [value];
    return isObject(first) && holdsError(first["error"]) ? text : null;
  } catch {
    return null;
  }
}
