import type { Chance } from "../core/chance.ts";
import type { Journal } from "../core/journal.ts";
import type { WorldClock } from "../core/world-clock.ts";
import type { Replica } from "../replica/replica.ts";
import { VirtualExchange } from "./exchange.ts";
import { bodyOf, headersOf, pathOf } from "./request.ts";
import type { ClientSpec } from "./spec.ts";
import { type ClientVisit, openVisit } from "./visit.ts";

/** Where clients are. */
export interface Outside {
  clock: WorldClock;
  journal: Journal;
  chance: Chance;
  /** What becomes of a body on its way. */
  bend(body: Buffer): Buffer;
  /** A replica that takes connections; null: none does. */
  replica(): Replica | null;
}

/** How soon a client without a replica tries again, ms, and how often. */
const RECONNECT_MS = 500;
const RECONNECTS_MAX = 200;
/** An SDK's own back-off where nothing is said, ms. */
const SDK_BACKOFF_MS = 500;
const PING = /^(?::[^\n]*\n\n|event: ping\ndata: [^\n]*\n\n)+$/;

/** A virtual client: it comes, asks, reads, perhaps leaves, perhaps asks again. */
export class Client {
  readonly spec: ClientSpec;
  /** One a request that reached a replica. */
  readonly visits: ClientVisit[] = [];
  /** It never found a replica. */
  unserved = false;
  readonly #outside: Outside;
  #reconnects = 0;

  constructor(spec: ClientSpec, outside: Outside) {
    this.spec = spec;
    this.#outside = outside;
    outside.clock.at(spec.atMs, () => this.#ask());
  }

  #ask(): void {
    const { clock, journal } = this.#outside;
    const replica = this.#outside.replica();
    if (!replica) {
      if (++this.#reconnects > RECONNECTS_MAX) this.unserved = true;
      else clock.after(RECONNECT_MS, () => this.#ask());
      return;
    }
    const { spec } = this;
    const visit = openVisit(`${spec.name}.${this.visits.length}`, replica.name, clock.elapsedMs);
    this.visits.push(visit);
    const { mark } = visit;
    journal.say(mark, `asks ${replica.name} for ${spec.alias}, ${spec.dialect}${spec.stream ? ", as a stream" : ""}`);
    let leaveTimer: { cancel(): void } | null = null;
    let readTimer: { cancel(): void } | null = null;
    const over = (end: ClientVisit["end"]): void => {
      if (visit.end !== "running") return;
      visit.end = end;
      visit.endedMs = clock.elapsedMs;
      visit.waitingBytesMax = exchange.waitingBytesMax;
      leaveTimer?.cancel();
      readTimer?.cancel();
      journal.say(mark, `${end} with ${visit.status ?? "no status"}`);
      this.#afterwards(visit);
    };
    const leave = (): void => {
      if (visit.end !== "running") return;
      over("left");
      exchange.leave();
    };
    const firstOutput = (): void => {
      visit.firstOutputMs = clock.elapsedMs;
      const { leaving, reading } = spec;
      if (leaving.kind === "mid_answer") leaveTimer = clock.after(leaving.ms, leave);
      if (reading.kind === "fast") return;
      exchange.reads(false);
      if (reading.kind === "stalls") {
        readTimer = clock.after(reading.leavesAfterMs, leave);
        return;
      }
      const read = (): void => {
        exchange.reads(true);
        if (visit.end !== "running") return;
        exchange.reads(false);
        readTimer = clock.after(reading.everyMs, read);
      };
      readTimer = clock.after(reading.everyMs, read);
    };
    const exchange = new VirtualExchange(
      { method: "POST", path: pathOf(spec), headers: headersOf(spec, mark) },
      {
        onHead: (status, headers) => {
          visit.status = status;
          visit.headers = headers;
          visit.headMs = clock.elapsedMs;
        },
        onBytes: (bytes) => {
          visit.bytes.push(Buffer.from(bytes));
          if (visit.firstOutputMs === null && !PING.test(bytes.toString("latin1"))) firstOutput();
        },
        onEnd: () => over("answered"),
        onClosed: () => over(replica.alive ? "closed" : "lost"),
        onFault: (what) => visit.faults.push(what),
      },
      (act) => replica.later(act),
    );
    if (spec.leaving.kind === "after") leaveTimer = clock.after(spec.leaving.ms, leave);
    replica.serve(exchange);
    this.#sendBody(visit, exchange, leave);
  }

  #sendBody(visit: ClientVisit, exchange: VirtualExchange, leave: () => void): void {
    const { clock } = this.#outside;
    const { spec } = this;
    const body = this.#outside.bend(bodyOf(spec, visit.mark));
    const size = Math.ceil(body.length / spec.bodyPieces);
    const send = (from: number): void => {
      if (visit.end !== "running") return;
      if (spec.leaving.kind === "mid_body" && from > 0) return leave();
      exchange.sendBody(body.subarray(from, from + size));
      if (from + size < body.length) return void clock.after(spec.bodyPaceMs, () => send(from + size));
      if (spec.leaving.kind === "mid_body") return leave();
      visit.sentWholeMs = clock.elapsedMs;
      exchange.sendBody(null);
    };
    clock.after(0.05, () => send(0));
  }

  /** As the official SDKs do: again, if it is told that it may, or if the connection was lost. */
  #afterwards(visit: ClientVisit): void {
    const { clock } = this.#outside;
    if (visit.end === "left" || this.visits.length > this.spec.retries) return;
    const said = visit.headers.get("x-should-retry");
    const failed = visit.status === null || [408, 409, 429].includes(visit.status) || visit.status >= 500;
    const again = visit.end === "answered" ? said === "true" || (said !== "false" && failed) : visit.headMs === null;
    if (!again) return;
    const afterMs = Number(visit.headers.get("retry-after-ms") ?? SDK_BACKOFF_MS * 2 ** (this.visits.length - 1));
    clock.after(afterMs, () => this.#ask());
  }
}
