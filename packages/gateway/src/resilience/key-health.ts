import type { BreakerConfig } from "../config/snapshot.ts";
import type { HealthFacts } from "../core/health.ts";
import { type Breaker, CLOSED, isHeld, rampOf, type TripFacts } from "./breaker.ts";
import { type Cooldowns, type CoolingClass, cooldownMs, longest, noCooldowns } from "./cooldown.ts";
import { LatencyHistory, type SlowRule } from "./latency-history.ts";
import { quantile } from "./latency-sketch.ts";
import { OutcomeWindow } from "./outcome-window.ts";
import type { CallOutcome } from "./permit.ts";

/** Quantiles are this old at most, ms: they cost more than a request has for them. */
const FIGURES_MS = 1_000;

/** An answer takes as long as so many tokens before its first one: what its length is held against. */
const PACE_TOKENS = 50;
/** Figures that are only shown are not judged. */
const SHOWN: SlowRule = { windowMs: 60_000, factor: Number.POSITIVE_INFINITY, minSamples: 1 };

/** A probe's place: taken while the others are asked, and until its call is over. */
export interface ProbePlace {
  stopRenewing: () => void;
}

interface Figures {
  at: number;
  p50Ms: number | null;
  p95Ms: number | null;
  ttftP50Ms: number | null;
  slow: boolean;
}

const NO_FIGURES: Figures = { at: 0, p50Ms: null, p95Ms: null, ttftP50Ms: null, slow: false };

/** What is counted of one deployment. Plain counters and their reading: who may call is the board's business. Monotonic ms. */
export class KeyHealth {
  readonly key: string;
  config: BreakerConfig;
  /** The config has it no more: forgotten once it is idle. */
  orphaned = false;
  breaker: Breaker = CLOSED;
  /** False: closed and not cooling, nothing needs a second look. */
  guarded = false;
  readonly cooldowns: Cooldowns = noCooldowns();
  inFlight = 0;
  /** Moves with every change of the circuit: calls of an earlier one say nothing about this one. */
  generation = 0;
  /** Moves with every cooldown: calls that were on their way then are no new refusals. */
  coolings = 0;
  /** Moves with the credential: refusals of the one before say nothing about this one. */
  credentials = 0;
  probe: ProbePlace | null = null;
  /** Another replica's probe is out: asked again then. */
  askAt = 0;
  /** Of the last record, own or not; 0: there never was one. */
  version = 0;
  term = 0;
  /** When the config was last read. */
  reloadedAt = Number.NEGATIVE_INFINITY;
  lifted = 0;

  #streak = 0;
  #strikes = 0;
  #spanMs: number;
  #rule: SlowRule;
  #outcomes: OutcomeWindow | null = null;
  /** What is judged: first outputs of streams, and the pace of whole answers. Apart: a change of their mix is no slowness. */
  #firsts: LatencyHistory | null = null;
  #paces: LatencyHistory | null = null;
  /** What is shown: whole answers, whole streams. */
  #answers: LatencyHistory | null = null;
  #streams: LatencyHistory | null = null;
  #figures: Figures | null = null;

  constructor(key: string, config: BreakerConfig, spanMs: number) {
    this.key = key;
    this.config = config;
    this.#spanMs = spanMs;
    this.#rule = ruleOf(config);
  }

  /** Nothing is on its way, and nothing holds its calls. */
  isIdle(now: number): boolean {
    this.look(now);
    return this.inFlight === 0 && !this.guarded && !isHeld(this.breaker, now);
  }

  /** Another config, the same counts. */
  reconfigure(config: BreakerConfig, spanMs: number): void {
    const old = this.#outcomes;
    if (old && (old.windowMs !== config.windowMs || old.spanMs !== spanMs)) {
      this.#outcomes = old.resized(config.windowMs, spanMs);
    }
    this.config = config;
    this.#spanMs = spanMs;
    this.#rule = ruleOf(config);
  }

  /** A call went well. True when a window of what is judged ended with it. */
  well(now: number, { latencyMs, ttftMs, outputTokens = 0, slow = false }: CallOutcome): boolean {
    this.#streak = 0;
    this.#strikes = 0;
    this.#counted().add(now, false, slow);
    const rule = this.#rule;
    if (ttftMs === null) {
      this.#answers ??= new LatencyHistory();
      this.#answers.add(now, latencyMs, SHOWN);
      this.#paces ??= new LatencyHistory();
      return this.#paces.add(now, (latencyMs * PACE_TOKENS) / (PACE_TOKENS + outputTokens), rule);
    }
    this.#firsts ??= new LatencyHistory();
    this.#streams ??= new LatencyHistory();
    this.#streams.add(now, latencyMs, SHOWN);
    return this.#firsts.add(now, ttftMs, rule);
  }

  /** A call failed in a way that counts. */
  failed(now: number): void {
    this.#streak++;
    this.#counted().add(now, true, false);
  }

  /**
   * Cools, by what a call of cooling number `began` came back with. The longer of two cooldowns wins. Returns whether it
   * cools longer now.
   */
  cool(now: number, kind: CoolingClass, retryAfterMs: number | null, began: number): boolean {
    const fresh = began === this.coolings;
    const advised = retryAfterMs !== null && retryAfterMs > 0;
    // Of a hundred calls that hit the same limit, one is news; without advice the others would double its time.
    if (kind === "rate_limited" && !fresh && !advised) return false;
    const until = now + cooldownMs(kind, retryAfterMs, this.#strikes);
    if (kind === "rate_limited" && fresh) this.#strikes = advised ? 0 : this.#strikes + 1;
    return this.coolUntil(kind, until);
  }

  /** Cools at least until then. */
  coolUntil(kind: CoolingClass, until: number): boolean {
    if (until <= this.cooldowns[kind]) return false;
    this.cooldowns[kind] = until;
    this.coolings++;
    this.guarded = true;
    return true;
  }

  /** Ends the cooldowns of one kind, or all. */
  lift(kind: CoolingClass | null): void {
    if (kind) this.cooldowns[kind] = 0;
    else Object.assign(this.cooldowns, noCooldowns());
    if (kind === null) this.#strikes = 0;
  }

  /** Another state of the circuit. Leaving or entering closed, what was counted is of the past. */
  become(breaker: Breaker, now: number): void {
    if ((breaker.circuit === "closed") !== (this.breaker.circuit === "closed")) {
      this.generation++;
      this.#streak = 0;
      if (breaker.why === "latency") {
        this.#paces?.accept(now);
        this.#firsts?.accept(now);
      }
      // While open, admin and explain want to see what opened it.
      if (breaker.circuit === "closed") this.#outcomes?.clear();
    }
    this.breaker = breaker;
    this.look(now);
  }

  /** Finds out whether calls need a second look. */
  look(now: number): void {
    this.guarded = this.breaker.circuit !== "closed" || longest(this.cooldowns, now) !== null;
  }

  /** As if it had just been added; calls on their way will say nothing. */
  forget(withLatency: boolean): void {
    this.generation++;
    this.#streak = 0;
    this.#outcomes?.clear();
    this.#figures = null;
    this.lift(null);
    if (!withLatency) return;
    this.#firsts = null;
    this.#paces = null;
    this.#answers = null;
    this.#streams = null;
  }

  /** What the trip rules look at. */
  tripFacts(now: number): TripFacts {
    const { calls, failures } = this.#counted().counts(now);
    const slowWindows = Math.max(this.#paces?.slowWindows ?? 0, this.#firsts?.slowWindows ?? 0);
    return { streak: this.#streak, calls, failures, slowWindows };
  }

  /** p95 of the first output of streams, or of whole answers, ms; null: not known. */
  p95Ms(stream: boolean): number | null {
    const history = stream ? this.#firsts : this.#answers;
    return history && quantile(history.recent(), 0.95);
  }

  /** All of it. `epochMs`: what a monotonic time is on the wall clock. */
  facts(now: number, epochMs: (at: number) => number, windowMs: number): HealthFacts {
    const { breaker, config } = this;
    const counts = this.#outcomes?.counts(now, windowMs) ?? { calls: 0, failures: 0, slow: 0 };
    const cooling = this.guarded ? longest(this.cooldowns, now) : null;
    const figures = this.#figuresAt(now);
    return {
      circuit: breaker.circuit,
      retryAt: breaker.circuit === "closed" ? 0 : epochMs(breaker.until),
      coolingUntil: cooling ? epochMs(cooling.until) : 0,
      coolingFor: cooling?.kind ?? null,
      requests: counts.calls,
      failures: counts.failures + counts.slow,
      p50Ms: figures.p50Ms,
      p95Ms: figures.p95Ms,
      ttftP50Ms: figures.ttftP50Ms,
      inFlight: this.inFlight,
      saturation: 0,
      ramp: rampOf(breaker, config, now),
      degraded:
        figures.slow ||
        (counts.calls >= config.minRequests && counts.slow > 0 && counts.slow >= config.errorRate * counts.calls),
    };
  }

  /** By a look: true when `facts` would find nothing wrong, over whatever window. False says nothing. */
  isWell(now: number): boolean {
    if (this.guarded || this.breaker.circuit !== "closed" || rampOf(this.breaker, this.config, now) < 1) return false;
    return (this.#outcomes?.allWell(now) ?? true) && !this.#figuresAt(now).slow;
  }

  #figuresAt(now: number): Figures {
    if (!this.#answers && !this.#firsts) return NO_FIGURES;
    if (this.#figures && now - this.#figures.at < FIGURES_MS) return this.#figures;
    const rule = this.#rule;
    const whole = [...(this.#answers?.recent() ?? []), ...(this.#streams?.recent() ?? [])];
    const slow = [this.#paces, this.#firsts].some(
      (history) => history !== null && (history.slowWindows > 0 || history.isSlowNow(now, rule)),
    );
    this.#figures = {
      at: now,
      p50Ms: quantile(whole, 0.5),
      p95Ms: quantile(whole, 0.95),
      ttftP50Ms: this.#firsts && quantile(this.#firsts.recent(), 0.5),
      slow,
    };
    return this.#figures;
  }

  #counted(): OutcomeWindow {
    this.#outcomes ??= new OutcomeWindow(this.config.windowMs, this.#spanMs);
    return this.#outcomes;
  }
}

function ruleOf({ windowMs, latencyFactor, minRequests }: BreakerConfig): SlowRule {
  return { windowMs, factor: latencyFactor, minSamples: minRequests };
}
