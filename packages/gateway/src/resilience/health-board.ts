import { defaultBreaker } from "../config/build/deployments.ts";
import type { BreakerConfig } from "../config/snapshot.ts";
import type { Clock } from "../core/clock.ts";
import { type Circuit, type HealthFacts, UNKNOWN_HEALTH } from "../core/health.ts";
import { newId } from "../core/ids.ts";
import type { Random } from "../core/random.ts";
import { HEALTH_KEYS_MAX, NEVER_MS, PROBE_LOOK_MS } from "./bounds.ts";
import { advance, type Breaker, type BreakerEvent, breaks, type Hand, trips } from "./breaker.ts";
import { CallPermit, UNCOUNTED } from "./call-permit.ts";
import { type CoolingClass, cools, longest } from "./cooldown.ts";
import { detailsOf, type HealthDetails } from "./health-details.ts";
import { KeyHealth, type ProbePlace } from "./key-health.ts";
import { isReadable, mergeRecord, recordOf } from "./merge-record.ts";
import type { CallOutcome, NoPermit, Permit } from "./permit.ts";
import { askForProbe, keepProbe, leaseName } from "./probe-lease.ts";
import type { BoardRecord, OpenedFor, SharedBoard } from "./shared-board.ts";

/** What happened to a deployment's health. */
export interface HealthEvent {
  kind: "opened" | "half_open" | "closed" | "cooled";
  key: string;
  /** What opened it or cools it; null where the kind says all. */
  why: OpenedFor | CoolingClass | null;
  /** Epoch ms. */
  atMs: number;
  /** Found out here, heard from another replica, or set by hand. */
  by: "here" | "elsewhere" | "hand";
}

/** What a hand may do to a circuit. */
export type Force = "open" | "close" | "reset";

/**
 * Who may be called: breakers, cooldowns and what is counted for them, one of each for every key (a deployment, or a tenant's
 * own credential at it). Calls ask for a permit and say how they went. Everything is kept here; replicas tell each other what
 * changes, and without them this one goes on alone.
 */
export class HealthBoard {
  readonly #clock: Clock;
  readonly #shared: SharedBoard;
  readonly #id: string;
  /** Makes this replica's versions unlike the others': of two at once the store keeps one, and its writer hears of it. */
  readonly #fraction: number;
  readonly #keys = new Map<string, KeyHealth>();
  readonly #listeners = new Set<(event: HealthEvent) => void>();
  readonly #stopListening: () => void;
  #configs: ReadonlyMap<string, BreakerConfig> = new Map();
  /** The longest window that is read. */
  #spanMs = 0;

  constructor({ clock, random, shared }: { clock: Clock; random: Random; shared: SharedBoard }) {
    this.#clock = clock;
    this.#shared = shared;
    this.#id = newId("rep", clock, random);
    this.#fraction = random.float();
    this.#stopListening = shared.listen((key, record) => this.#receive(key, record));
  }

  /**
   * The keys of the config from now on, and how each breaks. The others are forgotten once they are idle; counts survive.
   * `spanMs`: the longest window `read` is asked for. A reload: models that were not found are asked for again.
   */
  follow(configs: ReadonlyMap<string, BreakerConfig>, spanMs = 0): void {
    this.#configs = configs;
    this.#spanMs = spanMs;
    const now = this.#clock.monotonic();
    for (const health of this.#keys.values()) {
      const config = configs.get(health.key);
      health.orphaned = config === undefined;
      if (config) health.reconfigure(config, spanMs);
      health.reloadedAt = now;
      this.#liftOne(health, "model_not_found");
      this.#forgetIfIdle(health);
    }
  }

  /** A key's health; UNKNOWN_HEALTH where nothing is known. `windowMs`: of the counts; the breaker's own by default. */
  read(key: string, windowMs?: number): HealthFacts {
    const health = this.#keys.get(key);
    if (!health) return UNKNOWN_HEALTH;
    return health.facts(this.#clock.monotonic(), this.#epoch, windowMs ?? health.config.windowMs);
  }

  /** Where a key's circuit stands, and nothing else of its health. */
  circuit(key: string): Circuit {
    return this.#keys.get(key)?.breaker.circuit ?? "closed";
  }

  /** Whether a key is well beyond doubt, by a look: true says that `read` finds nothing wrong, over whatever window. */
  isWell(key: string, now = this.#clock.monotonic()): boolean {
    return this.#keys.get(key)?.isWell(now) ?? true;
  }

  /** How long 95 of 100 wait for the first output of a stream, or a whole answer, ms; null: not known. */
  p95Ms(key: string, stream: boolean): number | null {
    return this.#keys.get(key)?.p95Ms(stream) ?? null;
  }

  /** Leave to call, or why not. A promise only when a probe is due, and other replicas have to be asked. */
  permit(key: string): Permit | NoPermit | Promise<Permit | NoPermit> {
    const health = this.#keys.get(key) ?? this.#add(key);
    if (!health) return UNCOUNTED;
    return health.guarded ? this.#guarded(health) : new CallPermit(this.#settled, health, null);
  }

  /** Leave to call whatever the health says: for the least bad one. The call counts, but is no probe. */
  pass(key: string): Permit {
    const health = this.#keys.get(key) ?? this.#add(key);
    return health ? new CallPermit(this.#settled, health, null) : UNCOUNTED;
  }

  /** The key's credential is another one: the old one's refusals mean nothing any more. */
  credentialChanged(key: string): void {
    const health = this.#keys.get(key);
    if (!health) return;
    health.credentials++;
    this.#liftOne(health, "auth_failed");
  }

  /**
   * By hand: open (for a time, or until it is changed), close (and hold closed for a time), or reset (forget everything).
   * Wins over what the breaker finds, here and on the other replicas. Closing and resetting end cooldowns too.
   */
  force(key: string, what: Force, options: { forMs?: number; reason?: string; by: string }): HealthFacts {
    const health = this.#keys.get(key) ?? this.#add(key);
    if (!health) return UNKNOWN_HEALTH;
    const now = this.#clock.monotonic();
    const { forMs, reason, by } = options;
    this.#dropProbe(health);
    if (what !== "open") {
      health.forget(what === "reset");
      health.lifted = health.term + 1;
    }
    const set = what === "open" ? "open" : what === "close" && forMs !== undefined ? "closed" : "free";
    const until = forMs === undefined ? Number.POSITIVE_INFINITY : now + forMs;
    const hand: Hand = { set, until, reason: reason ?? null, by, term: health.term + 1 };
    this.#advance(health, { kind: "forced", hand }, now, "hand");
    this.#publishTerm(health);
    return this.read(key);
  }

  /** Every key something is known of. */
  keys(): string[] {
    return [...this.#keys.keys()];
  }

  /** More of a key than routing needs, for people. */
  details(key: string): HealthDetails {
    return detailsOf(this.#keys.get(key), this.read(key), this.#clock.monotonic(), this.#epoch);
  }

  /** Calls `listener` at everything that happens from now on. Returns what ends it. */
  onEvent(listener: (event: HealthEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stops listening, and gives up probes' places. */
  close(): void {
    this.#stopListening();
    for (const health of this.#keys.values()) this.#dropProbe(health);
  }

  readonly #epoch = (at: number): number => Math.min(NEVER_MS, at + this.#clock.now() - this.#clock.monotonic());

  #guarded(health: KeyHealth): Permit | NoPermit | Promise<Permit | NoPermit> {
    const now = this.#clock.monotonic();
    const { breaker } = health;
    const cooling = longest(health.cooldowns, now);
    if (breaker.circuit === "closed") {
      if (cooling) return this.#no("cooling", cooling.until, cooling.kind);
      health.look(now);
      return new CallPermit(this.#settled, health, null);
    }
    const until = Math.max(breaker.until, cooling?.until ?? 0);
    if (until > now) return this.#no("open", until, cooling?.kind ?? null);
    if (health.probe || health.askAt > now) return this.#no("probing", now + PROBE_LOOK_MS, null);
    return this.#askForProbe(health);
  }

  #askForProbe(health: KeyHealth): Permit | NoPermit | Promise<Permit | NoPermit> {
    const place: ProbePlace = { stopRenewing: () => {} };
    health.probe = place;
    const leased = askForProbe(this.#shared, this.#clock, health.key);
    if (typeof leased === "boolean") return this.#leased(health, place, leased);
    return leased.then((granted) => this.#leased(health, place, granted));
  }

  #leased(health: KeyHealth, place: ProbePlace, granted: boolean): Permit | NoPermit | Promise<Permit | NoPermit> {
    const now = this.#clock.monotonic();
    if (health.probe !== place) {
      // Meanwhile the circuit became another one.
      if (granted) this.#shared.release(leaseName(health.key));
      return this.permit(health.key);
    }
    if (!granted) {
      health.probe = null;
      health.askAt = now + PROBE_LOOK_MS / 2;
      return this.#no("probing", now + PROBE_LOOK_MS, null);
    }
    place.stopRenewing = keepProbe(this.#shared, this.#clock, health.key, () => {
      if (health.probe === place) this.#endProbe(health, "probe_lost");
    });
    this.#advance(health, { kind: "probe_out" }, now, "here");
    return new CallPermit(this.#settled, health, place);
  }

  /** A call is over. */
  readonly #settled = (call: CallPermit, outcome: CallOutcome): void => {
    const { health, place } = call;
    health.inFlight--;
    const kind = outcome.neutral ? "cancelled" : outcome.class;
    const probes = place !== null && health.probe === place;
    if (kind === null) this.#well(call, outcome, probes);
    else if (breaks(kind)) this.#failed(call, probes);
    else {
      if (cools(kind) && (kind !== "auth_failed" || call.credentials === health.credentials)) {
        this.#cool(call, kind, outcome.retryAfterMs);
      }
      if (probes) this.#endProbe(health, "probe_lost");
    }
    if (health.orphaned) this.#forgetIfIdle(health);
  };

  #well(call: CallPermit, outcome: CallOutcome, probes: boolean): void {
    const { health } = call;
    if (probes) this.#endProbe(health, "probe_well");
    else if (call.generation !== health.generation) return;
    const now = this.#clock.monotonic();
    if (health.well(now, outcome)) this.#trip(health, now);
  }

  #failed(call: CallPermit, probes: boolean): void {
    const { health } = call;
    if (probes) {
      this.#endProbe(health, "probe_failed");
      return;
    }
    if (call.generation !== health.generation) return;
    const now = this.#clock.monotonic();
    health.failed(now);
    this.#trip(health, now);
  }

  #trip(health: KeyHealth, now: number): void {
    if (health.breaker.circuit !== "closed") return;
    const why = trips(health.config, health.tripFacts(now));
    if (!why) return;
    if (this.#advance(health, { kind: "tripped", why }, now, "here")) this.#publishTerm(health);
  }

  #cool(call: CallPermit, kind: CoolingClass, retryAfterMs: number | null): void {
    const { health } = call;
    if (!health.cool(this.#clock.monotonic(), kind, retryAfterMs, call.coolings)) return;
    this.#emit("cooled", health, kind, "here");
    this.#publish(health);
  }

  #endProbe(health: KeyHealth, kind: "probe_well" | "probe_failed" | "probe_lost"): void {
    this.#dropProbe(health, kind === "probe_failed");
    this.#advance(health, { kind }, this.#clock.monotonic(), "here");
    if (kind !== "probe_lost") this.#publishTerm(health);
  }

  /** Frees a probe's place. Late: others that have not yet heard how it went do not take it at once. */
  #dropProbe(health: KeyHealth, late = false): void {
    const { probe } = health;
    if (!probe) return;
    health.probe = null;
    probe.stopRenewing();
    const name = leaseName(health.key);
    if (late) this.#clock.after(PROBE_LOOK_MS, () => health.probe ?? this.#shared.release(name));
    else this.#shared.release(name);
  }

  #advance(health: KeyHealth, event: BreakerEvent, now: number, by: HealthEvent["by"]): boolean {
    const next = advance(health.breaker, event, health.config, now);
    if (next === health.breaker) return false;
    this.#become(health, next, now, by);
    return true;
  }

  #become(health: KeyHealth, next: Breaker, now: number, by: HealthEvent["by"]): void {
    const before = health.breaker.circuit;
    health.become(next, now);
    if (next.circuit === before) return;
    const kind = next.circuit === "open" ? "opened" : next.circuit;
    this.#emit(kind, health, kind === "opened" ? next.why : null, by);
  }

  #liftOne(health: KeyHealth, kind: CoolingClass): void {
    if (health.cooldowns[kind] === 0) return;
    health.lift(kind);
    health.look(this.#clock.monotonic());
    this.#publish(health);
  }

  /** The circuit has changed, or what holds it. */
  #publishTerm(health: KeyHealth): void {
    health.term++;
    this.#publish(health);
  }

  #publish(health: KeyHealth): void {
    health.version = Math.floor(health.version) + 1 + this.#fraction;
    this.#shared.publish(health.key, this.#record(health));
  }

  #no(why: NoPermit["why"], retryAt: number, kind: CoolingClass | null): NoPermit {
    return { ok: false, why, retryAtMs: this.#epoch(retryAt), class: kind };
  }

  #record(health: KeyHealth): BoardRecord {
    return recordOf(health, this.#id, this.#clock.monotonic(), this.#epoch);
  }

  #receive(key: string, record: BoardRecord | null): void {
    // What the store forgot was over; what is not, this replica knows.
    if (!record || record.by === this.#id || !isReadable(record)) return;
    const health = this.#keys.get(key) ?? this.#add(key);
    if (!health) return;
    const now = this.#clock.monotonic();
    const merged = mergeRecord(health, record, now, now - this.#clock.now());
    if (merged.breaker) {
      this.#dropProbe(health);
      this.#become(health, merged.breaker, now, merged.breaker.why === "hand" ? "hand" : "elsewhere");
    }
    if (merged.cooled) this.#emit("cooled", health, merged.cooled, "elsewhere");
    if (merged.answer) this.#publish(health);
  }

  #emit(kind: HealthEvent["kind"], { key }: KeyHealth, why: HealthEvent["why"], by: HealthEvent["by"]): void {
    for (const listener of this.#listeners) listener({ kind, key, why, atMs: this.#clock.now(), by });
  }

  #add(key: string): KeyHealth | null {
    if (this.#keys.size >= HEALTH_KEYS_MAX && !this.#configs.has(key)) return null;
    const config = this.#configs.get(key);
    const health = new KeyHealth(key, config ?? defaultBreaker(), this.#spanMs);
    this.#keys.set(key, health);
    return health;
  }

  #forgetIfIdle(health: KeyHealth): void {
    if (health.orphaned && health.isIdle(this.#clock.monotonic())) this.#keys.delete(health.key);
  }
}
