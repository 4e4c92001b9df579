import type { Ceiling } from "../core/ceiling.ts";
import { capsOf, type Pair, refilled } from "./bucket.ts";
import type { KnownLevels } from "./known-levels.ts";
import { type Draw, LocalCeilings, type Reserved, type Slot } from "./local-ceilings.ts";
import type { ScriptCall } from "./redis-link.ts";
import { redisKey } from "./script.ts";
import type { ReserveRequest } from "./state.ts";

/** A ceiling's buckets as they were when this replica began to stand in for the store: "" is the shared one. */
interface Begun {
  ceiling: Ceiling;
  slots: ReadonlyMap<string, Slot>;
}

/**
 * Ceilings while the store is lost: this replica's share of each, from where it was last known to be. When the store is back, what
 * was drawn here beyond what filled up again is taken there.
 */
export class StandIn {
  readonly #known: KnownLevels;
  readonly #local = new LocalCeilings();
  readonly #begun = new Map<string, Begun>();
  #share = 1;

  constructor(known: KnownLevels) {
    this.#known = known;
  }

  /** How many replicas share the ceilings. Not to be changed while it is busy: levels are parts of the whole. */
  set replicas(count: number) {
    this.#share = 1 / Math.max(1, count);
  }

  /** It stands in for some ceiling. */
  get busy(): boolean {
    return this.#begun.size > 0;
  }

  stands(key: string): boolean {
    return this.#begun.has(key);
  }

  /** Begins to stand in for a ceiling, unless it does already. `held`: slots of this replica's calls. */
  begin(ceiling: Ceiling, held: Map<string, number>, now: number): void {
    if (this.#begun.has(ceiling.key)) return;
    this.#local.share = this.#share;
    const known = this.#known.get(ceiling.key);
    const shared = this.#part(known?.shared ?? { requests: undefined, tokens: undefined, at: now });
    const floors = new Map([...(known?.floors ?? [])].map(([tenant, slot]) => [tenant, this.#part(slot)]));
    this.#begun.set(ceiling.key, { ceiling, slots: new Map([["", shared], ...floors]) });
    this.#local.seed(ceiling.key, { shared, floors: new Map(floors), leases: held }, now);
  }

  reserve(request: ReserveRequest, now: number): Reserved {
    return this.#local.reserve(request, now);
  }

  /** Without draws only the slots come free. */
  settle(request: ReserveRequest, draws: readonly (Draw | undefined)[], usedTokens: number | null, now: number): void {
    if (this.busy) this.#local.settle(request, draws, usedTokens, now);
  }

  used(ceiling: Ceiling, now: number): number {
    return this.stands(ceiling.key) ? this.#local.used(ceiling, now) : this.#known.used(ceiling, now);
  }

  /** Ends it, and says what the store has to be told: script `lower`. */
  end(now: number): ScriptCall {
    const call: ScriptCall = { keys: [], args: [] };
    for (const { ceiling, slots } of this.#begun.values()) {
      for (const [tenant, slot] of this.#local.slots(ceiling.key)) {
        const caps = this.#capsOf(ceiling, tenant);
        const start = slots.get(tenant) ?? { requests: undefined, tokens: undefined, at: now };
        // What the bucket would hold if nobody had drawn on it here, less what it holds.
        const taken = (kind: "requests" | "tokens"): number | "" => {
          const cap = caps[kind];
          if (cap === null) return "";
          const size = cap * this.#share;
          return Math.max(0, refilled(start[kind], start.at, size, now) - refilled(slot[kind], slot.at, size, now));
        };
        const [requests, tokens] = [taken("requests"), taken("tokens")];
        if (!requests && !tokens) continue;
        add(call, ceiling, tenant, caps, ["", ""], [requests, tokens]);
      }
    }
    this.#begun.clear();
    this.#local.clear();
    return call;
  }

  /** What a store that has forgotten everything has to be told: script `lower`. */
  lastKnown(now: number): ScriptCall {
    const call: ScriptCall = { keys: [], args: [] };
    for (const { ceiling, shared, floors } of this.#known.all()) {
      for (const [tenant, slot] of new Map([["", shared], ...floors])) {
        const caps = this.#capsOf(ceiling, tenant);
        const most = (kind: "requests" | "tokens"): number | "" => {
          const cap = caps[kind];
          return cap === null ? "" : refilled(slot[kind], slot.at, cap, now);
        };
        add(call, ceiling, tenant, caps, [most("requests"), most("tokens")], ["", ""]);
      }
    }
    return call;
  }

  #part({ requests, tokens, at }: Slot): Slot {
    const part = (level: number | undefined) => (level === undefined ? undefined : level * this.#share);
    return { requests: part(requests), tokens: part(tokens), at };
  }

  #capsOf(ceiling: Ceiling, tenant: string): { requests: number | null; tokens: number | null } {
    const of = (pair: Pair | null): number | null => pair && (tenant === "" ? pair.shared : pair.floor);
    return { requests: of(capsOf(ceiling, "rpm", tenant)), tokens: of(capsOf(ceiling, "tpm", tenant)) };
  }
}

type Two = [number | string, number | string];

function add(
  call: ScriptCall,
  ceiling: Ceiling,
  tenant: string,
  caps: { requests: number | null; tokens: number | null },
  most: Two,
  taken: Two,
): void {
  call.keys.push(redisKey("ceiling", ceiling.key));
  call.args.push(tenant && `:${tenant}`, caps.requests ?? "", caps.tokens ?? "", ...most, ...taken);
}
