import type { Cancel } from "../core/cancel.ts";
import type { Ceiling } from "../core/ceiling.ts";
import type { Clock } from "../core/clock.ts";
import type { OutputEstimates } from "../limits/output-estimate.ts";
import type { Ticket, Tried, WaitingRoom } from "../resilience/queue.ts";
import { totalTimeoutMs } from "../resilience/timeouts.ts";
import type { ReserveRequest, ReserveResult, SharedState } from "../state/state.ts";
import type { Work } from "./execute.ts";
import { clientLeft } from "./pause.ts";
import type { Hop } from "./route.ts";

/** What an attempt holds of its deployment's ceilings, until it is settled. */
export interface Hold {
  holder: string;
  /** Who waits at this deployment is told when a place is free. */
  room: string;
}

/** Which ceiling is full, and when it no longer is. */
export type Refusal = Extract<ReserveResult, { ok: false }>;

/** A ceiling is in the way. */
export function isFull(answer: Hold | Refusal): answer is Refusal {
  return "ok" in answer;
}

/** How long a place may be held by a call whose process has died, beyond the call's own deadline, ms. */
const LEASE_SLACK_MS = 30_000;
/** What a client is told to wait when the line for a place is full, ms. */
const FULL_MS = 1_000;
/** Calls whose answers are made of tokens. */
const WRITES: ReadonlySet<Work["call"]["operation"]> = new Set(["chat", "completions"]);

/**
 * Takes and gives back shares of what the providers allot (LIMIT-4): rates, tokens and places, of a deployment and its account
 * together or not at all. Who finds a deployment full may wait for a place, by priority (RES-9).
 */
export class Ceilings {
  readonly #clock: Clock;
  readonly #state: SharedState;
  readonly #outputs: OutputEstimates;
  readonly #rooms: WaitingRoom;
  #taken = 0;

  constructor(parts: { clock: Clock; state: SharedState; outputs: OutputEstimates; rooms: WaitingRoom }) {
    this.#clock = parts.clock;
    this.#state = parts.state;
    this.#outputs = parts.outputs;
    this.#rooms = parts.rooms;
  }

  /** Takes one call's share, or says which ceiling is full. */
  async take(work: Work, hop: Hop, cancel: Cancel): Promise<Hold | Refusal> {
    const { call, lease, visit, plan } = work;
    const request: ReserveRequest = {
      holder: this.#holder(visit.requestId),
      tenant: lease.row.tenant,
      tokens: call.inputTokensEstimate + this.#outputTokens(hop, call),
      inputTokens: call.inputTokensEstimate,
      ceilings: hop.ceilings,
      leaseMs: Math.max(plan.settings.timeouts.streamMaxMs, totalTimeoutMs(call, plan.settings)) + LEASE_SLACK_MS,
    };
    const room = hop.ceilings[0]?.key ?? "";
    const { on } = plan.settings.queue;
    const queues = work.queues !== false;
    // Who comes while others wait for a place gets in line behind them.
    const isBehind = queues && on.includes("concurrency") && this.#rooms.depth(room) > 0;
    const first = isBehind ? null : await this.#state.reserve(request);
    if (first?.ok) return { holder: request.holder, room };
    if (first && !(queues && isWaitedFor(first, on))) return first;
    return this.#wait(work, room, request, first, cancel);
  }

  /** Gives back what was not used: `usedTokens` is null when nothing was sent. */
  settle({ holder, room }: Hold, usedTokens: number | null): void {
    this.#state.settle({ holder, usedTokens });
    this.#rooms.wake(room);
  }

  /** How full the fullest of these is, 0 to 1. */
  used(ceilings: readonly Ceiling[]): number {
    return ceilings.reduce((most, ceiling) => Math.max(most, this.#state.used(ceiling)), 0);
  }

  /** An answer has come to its end: later ones are expected to be as long. */
  observe(deployment: Hop["deployment"], outputTokens: number): void {
    this.#outputs.observe(deployment.model, outputTokens);
  }

  /**
   * A name for one try to reserve, never used again: a place that comes when its request has gone elsewhere is given back by
   * itself, and what a try may have left at a store that did not answer is freed under a name that no later try holds.
   */
  #holder(requestId: string): string {
    return `${requestId}:${++this.#taken}`;
  }

  #outputTokens({ deployment: { model, maxOutputTokens } }: Hop, call: Work["call"]): number {
    if (!WRITES.has(call.operation)) return 0;
    return call.choices * this.#outputs.tokens(model, call.maxOutputTokens, maxOutputTokens);
  }

  /** Waits for a place in the deployment's own line, for as long as the route and the deadline let it. */
  async #wait(
    { call, plan, visit }: Work,
    room: string,
    request: ReserveRequest,
    refused: Refusal | null,
    cancel: Cancel,
  ): Promise<Hold | Refusal> {
    const { maxWaitMs, maxDepth, on } = plan.settings.queue;
    const began = this.#clock.monotonic();
    const ticket: Ticket<Hold> = {
      priority: call.platform.priority ?? "normal",
      until: Math.min(began + maxWaitMs, visit.arrivedAt + totalTimeoutMs(call, plan.settings)),
      maxDepth,
      take: () => {
        const again = { ...request, holder: this.#holder(visit.requestId) };
        const tried = triedAs(again.holder);
        const answer = this.#state.reserve(again);
        return answer instanceof Promise ? answer.then(tried) : tried(answer);
      },
      giveBack: (hold) => this.settle(hold, null),
    };
    let last = refused;
    const triedAs =
      (holder: string) =>
      (answer: ReserveResult): Tried<Hold> => {
        if (answer.ok) return { ok: true, value: { holder, room } };
        last = answer;
        return { ok: false, retryAfterMs: answer.retryAfterMs, final: !isWaitedFor(answer, on) };
      };
    const waited = await this.#rooms.wait(room, ticket, last?.retryAfterMs ?? 0, cancel);
    visit.waitedMs += this.#clock.monotonic() - began;
    if (waited.ok) return waited.value;
    if (waited.why === "cancelled") throw clientLeft();
    return last ?? { ok: false, scope: scopeOf(request), dimension: "concurrency", retryAfterMs: FULL_MS };
  }
}

/** Whether a route waits for what is full here, and waiting helps. */
function isWaitedFor({ dimension, tooLarge }: Refusal, on: Work["plan"]["settings"]["queue"]["on"]): boolean {
  return tooLarge !== true && on.includes(dimension === "concurrency" ? "concurrency" : "rate");
}

function scopeOf({ ceilings }: ReserveRequest): string {
  return ceilings[0]?.scope ?? "";
}
