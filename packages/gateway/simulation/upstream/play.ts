import type { UpstreamCall, UpstreamSink } from "../../src/core/transport.ts";
import type { Chance } from "../core/chance.ts";
import type { WorldClock } from "../core/world-clock.ts";
import { ACTS, type Act } from "./act.ts";
import { headOf, refusalOf } from "./answers.ts";
import type { InvoiceLine } from "./invoice.ts";
import { type Frame, type Said, told, type Wire } from "./wire.ts";

/** What happens next in a call, and how long after what was before it. */
interface Step {
  afterMs: number;
  /** A client that does not read holds it up. */
  isBody: boolean;
  run(): void;
}

/** What a call is played from. */
export interface Part {
  act: Act;
  line: InvoiceLine;
  said: Said;
  wire: Wire;
  /** The provider's wall clock, for dates. */
  nowMs: () => number;
}

/** How long after its end mark a server that does not hang up keeps a connection, ms. */
const LATE_MS = 30_000;

/** One upstream call that goes by its script. After an abort nothing is told any more, as the contract says. */
export class Play implements UpstreamCall {
  readonly #clock: WorldClock;
  readonly #sink: UpstreamSink;
  readonly #part: Part;
  readonly #chance: Chance;
  readonly #onEnd: () => void;
  readonly #steps: Step[] = [];
  #next = 0;
  #paused = false;
  #held = false;
  #over = false;
  #timer: { cancel(): void } | null = null;

  constructor(part: Part, sink: UpstreamSink, clock: WorldClock, chance: Chance, onEnd: () => void) {
    this.#part = part;
    this.#sink = sink;
    this.#clock = clock;
    this.#chance = chance;
    this.#onEnd = onEnd;
    this.#script();
    this.#go();
  }

  abort(): void {
    this.#finish("aborted");
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.#held) return;
    this.#held = false;
    this.#timer = this.#clock.after(0, () => this.#run());
  }

  #go(): void {
    const step = this.#steps[this.#next];
    if (!step || this.#over) return;
    // Very quick ones answer before `send` has returned.
    if (step.afterMs === 0 && this.#next === 0) return this.#run();
    this.#timer = this.#clock.after(step.afterMs, () => this.#run());
  }

  #run(): void {
    const step = this.#steps[this.#next];
    if (!step || this.#over) return;
    if (step.isBody && this.#paused) {
      this.#held = true;
      return;
    }
    this.#next++;
    step.run();
    this.#go();
  }

  #finish(end: "ended" | "aborted"): void {
    if (this.#over) return;
    this.#over = true;
    this.#timer?.cancel();
    this.#part.line.end = end;
    this.#part.line.endedMs = this.#clock.elapsedMs;
    this.#onEnd();
  }

  #then(afterMs: number, run: () => void, isBody = false): void {
    this.#steps.push({ afterMs, isBody, run });
  }

  #script(): void {
    const { act } = this.#part;
    if (act.kind === "unreachable") return;
    if (act.kind === "refused") return this.#breaks(act.connectMs, "connect", "ECONNREFUSED");
    this.#then(act.connectMs, () => {
      this.#part.line.sentMs = this.#clock.elapsedMs;
      this.#sink.onSent();
    });
    if (act.kind === "mute") return;
    if (act.kind === "reset") return this.#breaks(act.headMs, "reset", "ECONNRESET");
    const refusal = refusalOf(this.#part);
    if (refusal) return this.#refuses(refusal.status, refusal.headers, refusal.body);
    this.#part.line.free = false;
    if (this.#part.line.stream) this.#streams();
    else this.#answers();
  }

  #refuses(status: number, headers: Record<string, string>, body: Buffer): void {
    const { act } = this.#part;
    this.#head(act.headMs, status, headers);
    this.#data(0, [{ bytes: body }]);
    this.#ends(0);
  }

  /** A whole answer: worked for before its head. */
  #answers(): void {
    const { act, said, wire, line } = this.#part;
    const workMs = act.firstMs + act.words * act.paceMs;
    const body = wire.whole(said);
    this.#head(act.headMs + (act.kind === "mute_body" ? 0 : workMs), 200, headOf(this.#part));
    if (act.kind === "mute_body") return;
    const text = said.words.join("");
    const whole: Frame = {
      bytes: body,
      text,
      finishes: true,
      ...(said.showsUsage && { reports: said.usage }),
    };
    this.#then(0, () => {
      line.billed = { ...said.usage };
    });
    const half: Frame = { bytes: body.subarray(0, body.length >> 1) };
    switch (act.kind) {
      case "cut":
        this.#data(0, [half]);
        return this.#breaks(1, "reset", "ECONNRESET");
      case "eof":
      case "garbage":
        this.#data(0, [half]);
        return this.#ends(0);
      case "stall":
        return this.#data(0, [half]);
      default:
        this.#data(0, this.#cut(whole));
        this.#ends(0);
    }
  }

  #streams(): void {
    const { act, said, wire, line } = this.#part;
    const { before, words, after } = wire.stream(said);
    this.#head(act.headMs, 200, headOf(this.#part));
    if (act.kind === "mute_body") return;
    this.#data(0, before, () => {
      line.billed = { ...said.usage, output_tokens: 0 };
    });
    const broken = ["cut", "eof", "stall", "garbage", "error_mid"].includes(act.kind);
    const shown = act.kind === "error_first" ? [] : broken ? words.slice(0, act.breaksAfter) : words;
    for (const [i, frame] of shown.entries())
      this.#data(i === 0 ? act.firstMs : act.paceMs, this.#cut(frame), () => {
        line.firstOutputMs ??= this.#clock.elapsedMs;
        line.billed.output_tokens++;
      });
    switch (act.kind) {
      case "cut":
        return this.#breaks(act.paceMs, "reset", "ECONNRESET");
      case "eof":
        return this.#ends(act.paceMs);
      case "stall":
        return;
      case "garbage":
        this.#data(act.paceMs, [{ breaks: true, bytes: Buffer.from('data: {"choices": [{"ind\n\n') }]);
        return this.#ends(0);
      case "error_first":
      case "error_mid":
        this.#data(act.paceMs, [
          wire.errorEvent({ type: "overloaded_error", code: "overloaded_error", message: "busy" }),
        ]);
        return this.#ends(0);
      default: {
        this.#data(act.paceMs, after, () => {
          line.billed = { ...said.usage };
        });
        this.#then(
          0,
          () => {
            line.saidMs = this.#clock.elapsedMs;
          },
          true,
        );
        return this.#ends(act.kind === "late_close" ? LATE_MS : 0);
      }
    }
  }

  #head(afterMs: number, status: number, headers: Record<string, string>): void {
    this.#then(afterMs, () => {
      this.#part.line.headMs = this.#clock.elapsedMs;
      this.#sink.onHeaders(status, { "x-request-id": this.#part.line.id, ...headers });
    });
  }

  /** Frames in packets; `works` is what the provider does before the first of them goes out. */
  #data(afterMs: number, frames: readonly Frame[], works: () => void = () => {}): void {
    const packets = this.#part.act.packets === "bursts" && frames.length > 1 ? [frames] : frames.map((one) => [one]);
    for (const [i, packet] of packets.entries()) {
      const send = (): void => {
        if (i === 0) works();
        this.#tell(packet);
      };
      this.#then(i === 0 ? afterMs : 0.2, send, true);
    }
  }

  #tell(packet: readonly Frame[]): void {
    const { line } = this.#part;
    for (const { text, reports, finishes, breaks } of packet) {
      if (breaks) line.saidBroken = true;
      if (text) line.text += text;
      if (reports) line.reported = told(line.reported, reports);
      if (finishes) line.complete = true;
    }
    this.#sink.onData(Buffer.concat(packet.map(({ bytes }) => bytes)));
  }

  /** A frame in two packets, cut anywhere, where its call is of that kind. What it says counts with the second. */
  #cut(frame: Frame): Frame[] {
    const { bytes } = frame;
    if (this.#part.act.packets !== "halves" || bytes.length < 2) return [frame];
    const at = this.#chance.int(1, bytes.length - 1);
    return [{ bytes: bytes.subarray(0, at) }, { ...frame, bytes: bytes.subarray(at) }];
  }

  #ends(afterMs: number): void {
    this.#then(
      afterMs,
      () => {
        this.#finish("ended");
        this.#sink.onEnd();
      },
      true,
    );
  }

  #breaks(afterMs: number, kind: "connect" | "reset", message: string): void {
    this.#then(afterMs, () => {
      this.#finish("ended");
      this.#sink.onError(kind, message);
    });
  }
}

/** What a call is to be taken for. */
export function failsAs({ kind }: Act, stream: boolean): (typeof ACTS)[keyof typeof ACTS]["stream"] {
  return ACTS[kind][stream ? "stream" : "whole"];
}
