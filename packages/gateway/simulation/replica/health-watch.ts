import type { BreakerConfig } from "../../src/config/snapshot.ts";
import type { HealthBoard } from "../../src/resilience/health-board.ts";
import type { CallOutcome, NoPermit, Permit } from "../../src/resilience/permit.ts";
import type { Findings } from "../core/journal.ts";
import type { WorldClock } from "../core/world-clock.ts";
import type { VirtualStore } from "./store.ts";

/** Classes of failures that breakers count (ruling 5). */
const BREAKING = ["overloaded", "provider_error", "timeout", "connection_failed", "invalid_response"];
/** Rounding, and how far the clocks of two replicas and their news may be apart, ms. */
const OWN_SLACK_MS = 1;
const OTHERS_SLACK_MS = 1_000;
const NEWS_MS = 20;

interface Cooling {
  /** The process that heard of it. */
  board: HealthBoard;
  /** When that process died; null: it has not. */
  diedMs(): number | null;
  sinceMs: number;
  untilMs: number;
}

/** One deployment, as one process sees it. */
interface Seen {
  /** Counting failures in a row, of calls that were let through since the circuit last changed. */
  inRow: number;
  inRowSinceMs: number;
  changedMs: number;
  /** Until when an open circuit lets nobody through; 0: it is not open. */
  openUntilMs: number;
}

/** Looks over every health board's shoulder: who was let through, and what was said of how it went. */
export class HealthWatch {
  /** Outcomes that counted as failures of a deployment's, by replica and deployment. */
  readonly failures = new Map<string, number>();
  readonly #world: WorldClock;
  readonly #store: VirtualStore;
  readonly #findings: Findings;
  readonly #probes = new Map<string, Set<Pick<Cooling, "diedMs">>>();
  readonly #cooling = new Map<string, Cooling[]>();

  constructor(world: WorldClock, store: VirtualStore, findings: Findings) {
    this.#world = world;
    this.#store = store;
    this.#findings = findings;
  }

  /** Watches one process's board. `diedMs`: one that is dead holds nothing any more. */
  follow(
    replica: string,
    board: HealthBoard,
    breaker: (key: string) => BreakerConfig | undefined,
    diedMs: () => number | null,
  ): void {
    const seen = new Map<string, Seen>();
    const seenOf = (key: string): Seen => {
      const known = seen.get(key) ?? { inRow: 0, inRowSinceMs: 0, changedMs: 0, openUntilMs: 0 };
      seen.set(key, known);
      return known;
    };
    board.onEvent(({ key, kind, by }) => {
      if (kind === "cooled") return;
      const nowMs = this.#world.elapsedMs;
      const recoveryMs = breaker(key)?.recoveryMs ?? 0;
      // One that was opened elsewhere has been open for a while.
      const openUntilMs = kind === "opened" ? nowMs + recoveryMs - (by === "here" ? OWN_SLACK_MS : OTHERS_SLACK_MS) : 0;
      Object.assign(seenOf(key), { inRow: 0, changedMs: nowMs, openUntilMs });
    });
    const ask = board.permit.bind(board);
    const granted = (key: string, permit: Permit | NoPermit): Permit | NoPermit => {
      if (!permit.ok) return permit;
      this.#checkCooling(replica, board, key);
      this.#checkBreaker(replica, key, permit, seenOf(key), breaker(key));
      const probe = permit.probe ? this.#probe(replica, key, diedMs) : null;
      const sinceMs = this.#world.elapsedMs;
      return {
        ok: true,
        probe: permit.probe,
        done: (outcome) => {
          probe?.();
          permit.done(outcome);
          this.#note(replica, { board, diedMs }, key, outcome, sinceMs, seenOf(key));
        },
      };
    };
    board.permit = (key) => {
      const answer = ask(key);
      return answer instanceof Promise ? answer.then((permit) => granted(key, permit)) : granted(key, answer);
    };
  }

  #note(
    replica: string,
    heard: Pick<Cooling, "board" | "diedMs">,
    key: string,
    { class: kind, neutral, retryAfterMs }: CallOutcome,
    sinceMs: number,
    seen: Seen,
  ): void {
    const nowMs = this.#world.elapsedMs;
    if (neutral) return;
    if (kind === "rate_limited" && retryAfterMs !== null)
      this.#cooling.set(key, [
        ...(this.#cooling.get(key) ?? []),
        { ...heard, sinceMs: nowMs, untilMs: nowMs + retryAfterMs },
      ]);
    const counts = kind !== null && BREAKING.includes(kind);
    if (counts) {
      const name = `${replica} ${key}`;
      this.failures.set(name, (this.failures.get(name) ?? 0) + 1);
    }
    // What was let through before the circuit changed says nothing of what it is now.
    if (sinceMs < seen.changedMs) return;
    if (kind === null) seen.inRow = 0;
    else if (counts) {
      seen.inRow++;
      seen.inRowSinceMs = nowMs;
    }
  }

  #checkCooling(replica: string, board: HealthBoard, key: string): void {
    const nowMs = this.#world.elapsedMs;
    for (const cooling of this.#cooling.get(key) ?? []) {
      const own = cooling.board === board;
      const toldMs = cooling.sinceMs + NEWS_MS;
      if (!own && (this.#store.everLost || nowMs < toldMs || (cooling.diedMs() ?? toldMs) < toldMs)) continue;
      if (nowMs + (own ? OWN_SLACK_MS : OTHERS_SLACK_MS) < cooling.untilMs)
        this.#findings.add(
          "cooldowns are kept",
          `${replica} lets a call to ${key} through at ${nowMs}, it cools until ${cooling.untilMs}`,
        );
    }
  }

  #checkBreaker(replica: string, key: string, { probe }: Permit, seen: Seen, breaker: BreakerConfig | undefined): void {
    const nowMs = this.#world.elapsedMs;
    if (nowMs < seen.openUntilMs)
      this.#findings.add("breakers hold", `${replica} lets a call to ${key} through at ${nowMs}, it is open`);
    if (!breaker || probe || seen.inRow < breaker.consecutive) return;
    if (nowMs < seen.inRowSinceMs + breaker.recoveryMs)
      this.#findings.add(
        "breakers open",
        `${replica} lets a call to ${key} through after ${seen.inRow} failures in a row`,
      );
  }

  /** One probe at a time, of all replicas. */
  #probe(replica: string, key: string, diedMs: () => number | null): () => void {
    const place = { diedMs };
    const places = this.#probes.get(key) ?? new Set();
    this.#probes.set(key, places);
    for (const other of places) if (other.diedMs() !== null) places.delete(other);
    if (places.size > 0 && !this.#store.everLost)
      this.#findings.add(
        "one probe at a time",
        `${replica} probes ${key} beside another one at ${this.#world.elapsedMs}`,
      );
    places.add(place);
    return () => places.delete(place);
  }
}
