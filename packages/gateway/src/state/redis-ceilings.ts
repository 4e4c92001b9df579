import type { Ceiling } from "../core/ceiling.ts";
import type { Clock } from "../core/clock.ts";
import { STATE_BOUNDS } from "./bounds.ts";
import { amountOf, drawn, type Pair, unused } from "./bucket.ts";
import type { CeilingScripts } from "./ceiling-scripts.ts";
import { Holds } from "./holds.ts";
import { type Levels, refusalOf, type Sizes, sizesOf, tooLarge, worse } from "./judge.ts";
import { KnownLevels } from "./known-levels.ts";
import type { Draw } from "./local-ceilings.ts";
import { type RedisLink, type ScriptCall, StoreLost } from "./redis-link.ts";
import { redisKey } from "./script.ts";
import { StandIn } from "./stand-in.ts";
import type { ReserveRequest, ReserveResult, Settlement } from "./state.ts";

interface Hold {
  request: ReserveRequest;
  draws: readonly (Draw | undefined)[];
  /** Whose books it is in. */
  home: "store" | "here";
  /** The store was asked for it and did not answer: it may have a slot there all the same. */
  unknown: boolean;
  /** When its slots come back by themselves, monotonic ms. */
  until: number;
}

/** What is to be told of one ceiling at the end of a call. */
interface Ending {
  keys: [string, string];
  args: (string | number)[];
}

/** Endings in one script. */
const BATCH = 64;

/** Ceilings that replicas share. Without the store, what this replica stands in for (stand-in.ts). */
export class RedisCeilings {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #scripts: CeilingScripts;
  readonly #holds = new Holds<Hold>();
  readonly #known = new KnownLevels();
  readonly #standIn = new StandIn(this.#known);
  #endings: Ending[] = [];
  #flushing = false;

  constructor(link: RedisLink, clock: Clock, scripts: CeilingScripts) {
    this.#link = link;
    this.#clock = clock;
    this.#scripts = scripts;
  }

  reserve(request: ReserveRequest): Promise<ReserveResult> | ReserveResult {
    if (request.ceilings.length === 0 || this.#holds.has(request.holder)) return { ok: true };
    const large = tooLarge(request);
    if (large) return large;
    if (!this.#link.usable) return this.#alone(request);
    // What has come free here is free for whoever is woken by it.
    this.#flushNow();
    return this.#shared(request);
  }

  settle({ holder, usedTokens }: Settlement): void {
    const hold = this.#holds.take(holder);
    if (!hold) return;
    const { request, draws } = hold;
    for (const { key } of request.ceilings) this.#known.ended(key);
    this.#standIn.settle(request, hold.home === "here" ? draws : [], usedTokens, this.#clock.monotonic());
    if (hold.home === "here") {
      if (hold.unknown) this.#free(request);
      return;
    }
    this.#end(request.ceilings.map((ceiling, i) => ending(ceiling, request, draws[i], usedTokens)));
  }

  used(ceiling: Ceiling): number {
    const now = this.#clock.monotonic();
    return this.#link.usable ? this.#known.used(ceiling, now) : this.#standIn.used(ceiling, now);
  }

  reservedTokens(): number {
    return this.#holds.tokens();
  }

  /** The store answers: tells it what happened without it. `replicas`: how many there are, for the next time it is lost. */
  back(replicas: number): void {
    if (this.#standIn.busy) this.#reconcile(this.#standIn.end(this.#clock.monotonic()));
    this.#standIn.replicas = replicas;
    this.#flushSoon();
  }

  /** The store has lost everything: it is told what is known of it, and what runs. */
  restore(): void {
    const lowered = this.#standIn.lastKnown(this.#clock.monotonic());
    this.#tell(this.#scripts.lower, lowered);
    this.#hold([...this.#holds.all()].filter((hold) => hold.home === "store"));
  }

  /** Sends what waits to be sent; resolves when it is out. */
  async flush(): Promise<void> {
    while (this.#endings.length > 0 && this.#link.usable) await this.#flushBatch();
  }

  async #shared(request: ReserveRequest): Promise<ReserveResult> {
    const sizes = request.ceilings.map((ceiling) => sizesOf(ceiling, request.tenant, 1));
    let answer: unknown;
    try {
      answer = await this.#link.run(this.#scripts.reserve, reserveCall(request, sizes));
    } catch (error) {
      // It may have been done all the same: tokens fill up again by themselves, slots are given back when the call is over.
      const unknown = error instanceof StoreLost && error.sent;
      const alone = this.#alone(request, unknown);
      if (unknown && !alone.ok) this.#free(request);
      return alone;
    }
    const [all, ...texts] = answer as [number, ...string[]];
    const before = texts.map(levelsOf);
    return all === 1 ? this.#taken(request, sizes, before) : this.#refused(request, sizes, before);
  }

  #taken(request: ReserveRequest, sizes: readonly Sizes[], before: readonly Levels[]): ReserveResult {
    const now = this.#clock.monotonic();
    const draws = request.ceilings.map((ceiling, i): Draw => {
      const [size, levels] = [sizes[i], before[i]];
      const requests = drawOf(levels?.requests, size?.requests, 1);
      const tokens = drawOf(levels?.tokens, size?.tokens, request.tokens);
      this.#known.note(
        ceiling,
        request.tenant,
        {
          requests: less(levels?.requests, requests),
          tokens: less(levels?.tokens, tokens),
          running: (levels?.running ?? 0) + 1,
        },
        now,
      );
      return { requests, tokens };
    });
    this.#holds.add(request.holder, { request, draws, home: "store", unknown: false, until: now + request.leaseMs });
    return { ok: true };
  }

  #refused(request: ReserveRequest, sizes: readonly Sizes[], before: readonly Levels[]): ReserveResult {
    let refusal: Extract<ReserveResult, { ok: false }> | null = null;
    request.ceilings.forEach((ceiling, i) => {
      const [size, levels] = [sizes[i], before[i]];
      if (!size || !levels) return;
      this.#known.note(ceiling, request.tenant, levels, this.#clock.monotonic());
      refusal = worse(refusal, refusalOf(ceiling, size, levels, request.tokens));
    });
    return refusal ?? { ok: true };
  }

  #alone(request: ReserveRequest, unknown = false): ReserveResult {
    const now = this.#clock.monotonic();
    for (const ceiling of request.ceilings) this.#standIn.begin(ceiling, this.#heldOf(ceiling), now);
    const reserved = this.#standIn.reserve(request, now);
    if (!reserved.ok) return reserved;
    const { draws } = reserved;
    this.#holds.add(request.holder, { request, draws, home: "here", unknown, until: now + request.leaseMs });
    return { ok: true };
  }

  /** Slots of a ceiling that this replica's calls hold. */
  #heldOf(ceiling: Ceiling): Map<string, number> {
    const held = new Map<string, number>();
    if (this.#standIn.stands(ceiling.key)) return held;
    for (const { request, until } of this.#holds.all()) {
      if (request.ceilings.some(({ key }) => key === ceiling.key)) held.set(request.holder, until);
    }
    return held;
  }

  #reconcile(call: ScriptCall): void {
    const mine = [...this.#holds.all()].filter((hold) => hold.home === "here");
    for (const hold of mine) hold.home = "store";
    this.#hold(mine);
    this.#tell(this.#scripts.lower, call, () => {
      // The store never heard of these draws: nothing may be given back to it.
      for (const hold of mine) hold.draws = [];
    });
  }

  #hold(holds: readonly Hold[]): void {
    const now = this.#clock.monotonic();
    const call: ScriptCall = { keys: [], args: [] };
    for (const { request, until } of holds) {
      for (const ceiling of request.ceilings) {
        if (ceiling.concurrency === null || until <= now) continue;
        call.keys.push(setKey(ceiling));
        call.args.push(request.holder, Math.ceil(until - now));
      }
    }
    this.#tell(this.#scripts.hold, call);
  }

  #tell(script: CeilingScripts["lower"], call: ScriptCall, failed: () => void = () => {}): void {
    if (call.keys.length > 0) this.#link.run(script, call).catch(failed);
  }

  /** Gives back the slots that a call may have at the store, and nothing else. */
  #free(request: ReserveRequest): void {
    this.#end(request.ceilings.map((ceiling) => ending(ceiling, request, undefined, null)));
  }

  #end(endings: readonly Ending[]): void {
    this.#endings.push(...endings);
    // Kept while the store is lost, so that slots come back before their time. Tokens come back by themselves.
    if (this.#endings.length > STATE_BOUNDS.holdsMax)
      this.#endings.splice(0, this.#endings.length - STATE_BOUNDS.holdsMax);
    this.#flushSoon();
  }

  /** Calls that end in one tick are told in one script. */
  #flushSoon(): void {
    if (this.#flushing || this.#endings.length === 0 || !this.#link.usable) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flushNow();
    });
  }

  #flushNow(): void {
    for (let left = this.#endings.length; left > 0 && this.#link.usable; left -= BATCH) void this.#flushBatch();
  }

  async #flushBatch(): Promise<void> {
    const batch = this.#endings.splice(0, BATCH);
    try {
      await this.#link.run(this.#scripts.settle, {
        keys: batch.flatMap(({ keys }) => keys),
        args: batch.flatMap(({ args }) => args),
      });
    } catch {
      // Whether it was done nobody knows: to free a slot twice does no harm, to give back tokens twice would.
      this.#endings.push(...batch.map(({ keys, args }) => ({ keys, args: [...args.slice(0, 6), 0, 0, 0, 0, 0, 0] })));
    }
  }
}

function levelsKey(ceiling: Ceiling): string {
  return redisKey("ceiling", ceiling.key);
}

function setKey(ceiling: Ceiling): string {
  return redisKey("slots", ceiling.key);
}

function reserveCall(request: ReserveRequest, sizes: readonly Sizes[]): ScriptCall {
  const { holder, leaseMs, tenant, tokens, ceilings } = request;
  return {
    keys: ceilings.flatMap((ceiling) => [levelsKey(ceiling), setKey(ceiling)]),
    args: [
      holder,
      leaseMs,
      tenant,
      tokens,
      ...sizes.flatMap((size) => [...sizeArgs(size), size.concurrency ?? "", size.own ? "1" : ""]),
    ],
  };
}

function sizeArgs({ requests, tokens }: Sizes): (number | string)[] {
  return [requests?.floor ?? "", requests?.shared ?? "", tokens?.floor ?? "", tokens?.shared ?? ""];
}

function levelsOf(text: string): Levels {
  const [rf = "", rs = "", tf = "", ts = "", running = ""] = text.split(" ");
  const pair = (floor: string, shared: string): Pair | null =>
    shared === "-" ? null : { floor: Number(floor), shared: Number(shared) };
  return { requests: pair(rf, rs), tokens: pair(tf, ts), running: Number(running) };
}

function drawOf(levels: Pair | null | undefined, caps: Pair | null | undefined, wanted: number): Pair | null {
  return levels && caps ? drawn(levels, amountOf(wanted, caps)) : null;
}

function less(levels: Pair | null | undefined, draw: Pair | null): Pair | null {
  return levels && draw ? { floor: levels.floor - draw.floor, shared: levels.shared - draw.shared } : null;
}

/** What a call's end means for a ceiling. Without a draw only its slot comes free. */
function ending(ceiling: Ceiling, request: ReserveRequest, draw: Draw | undefined, usedTokens: number | null): Ending {
  const sizes = sizesOf(ceiling, request.tenant, 1);
  return {
    keys: [levelsKey(ceiling), setKey(ceiling)],
    args: [
      request.holder,
      sizes.own ? request.tenant : "",
      ...sizeArgs(sizes),
      ...change(draw?.requests, usedTokens === null ? 0 : 1),
      ...change(draw?.tokens, usedTokens ?? 0),
    ],
  };
}

/** What goes back to the floor and to the shared bucket, and what more is taken. */
function change(draw: Pair | null | undefined, used: number): [number, number, number] {
  if (!draw) return [0, 0, 0];
  const { floor, shared } = unused(draw, used);
  return [floor, shared, Math.max(0, used - draw.floor - draw.shared)];
}
