import type { Clock } from "../core/clock.ts";
import { Holds } from "./holds.ts";
import { LocalBoard } from "./local-board.ts";
import { type Draw, LocalCeilings } from "./local-ceilings.ts";
import { LocalReplays } from "./local-replays.ts";
import type { ReserveRequest, ReserveResult, SharedState } from "./state.ts";

/** What replicas in one process share, where there is more than one of them. */
export interface MemoryStore {
  readonly ceilings: LocalCeilings;
  readonly board: LocalBoard;
  readonly replays: LocalReplays;
}

/** A store for several `memoryState`s. */
export function memoryStore(clock: Clock): MemoryStore {
  return { ceilings: new LocalCeilings(), board: new LocalBoard(clock), replays: new LocalReplays(clock) };
}

/** State of one process, as one replica has it: nothing outlives it, and reservations are answered at once. */
export function memoryState(
  clock: Clock,
  { ceilings, board, replays } = memoryStore(clock),
): SharedState & { reserve(request: ReserveRequest): ReserveResult } {
  const self = {};
  const holds = new Holds<{ request: ReserveRequest; draws: Draw[] }>();
  return {
    kind: "memory",
    standing: () => "ok",
    board: {
      publish: (key, record) => void board.accept(key, record),
      listen: (fn) => board.listen(fn),
      lease: async (name, ttlMs) => board.lease(self, name, ttlMs),
      release: (name) => board.release(self, name),
    },
    replays,
    reserve(request) {
      if (request.ceilings.length === 0 || holds.has(request.holder)) return { ok: true };
      const reserved = ceilings.reserve(request, clock.monotonic());
      if (!reserved.ok) return reserved;
      holds.add(request.holder, { request, draws: reserved.draws });
      return { ok: true };
    },
    settle({ holder, usedTokens }) {
      const hold = holds.take(holder);
      if (hold) ceilings.settle(hold.request, hold.draws, usedTokens, clock.monotonic());
    },
    used: (ceiling) => ceilings.used(ceiling, clock.monotonic()),
    reservedTokens: () => holds.tokens(),
    async close() {},
  };
}
