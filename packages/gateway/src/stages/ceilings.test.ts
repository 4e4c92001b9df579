import { describe, expect, it } from "vitest";
import { chatCall } from "../../test/support/call.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { Cancel } from "../core/cancel.ts";
import type { Ceiling } from "../core/ceiling.ts";
import { OutputEstimates } from "../limits/output-estimate.ts";
import { WaitingRoom } from "../resilience/queue.ts";
import { memoryState } from "../state/memory.ts";
import type { ReserveRequest, ReserveResult, SharedState } from "../state/state.ts";
import { Ceilings, isFull } from "./ceilings.ts";
import type { Work } from "./execute.ts";
import type { Hop } from "./route.ts";

const NONE: Omit<Ceiling, "key" | "scope"> = { rpm: null, tpm: null, concurrency: null, floors: new Map() };

function hopOf(name: string, limits: Partial<Ceiling>): Hop {
  const ceilings = [{ ...NONE, key: name, scope: `deployment:${name}`, ...limits }];
  return { ceilings, deployment: { name, model: name, maxOutputTokens: null } } as unknown as Hop;
}

function workOf(requestId: string, body: Record<string, unknown> = {}, queue: Record<string, unknown> = {}): Work {
  return {
    call: chatCall(body),
    lease: { row: { tenant: "t" }, attempts: [] },
    visit: { requestId, arrivedAt: 0, waitedMs: 0 },
    plan: {
      settings: {
        timeouts: { totalMs: null, hopMs: null, streamMaxMs: 600_000 },
        queue: { maxWaitMs: 5_000, maxDepth: 10, on: ["concurrency"], ...queue },
      },
    },
  } as unknown as Work;
}

function bench(reserve?: (request: ReserveRequest) => ReserveResult | Promise<ReserveResult>) {
  const clock = new VirtualClock();
  const memory = memoryState(clock);
  const settled: string[] = [];
  const state: SharedState = {
    ...memory,
    reserve: (request) => reserve?.(request) ?? memory.reserve(request),
    settle(settlement) {
      settled.push(settlement.holder);
      memory.settle(settlement);
    },
  };
  const ceilings = new Ceilings({ clock, state, outputs: new OutputEstimates(), rooms: new WaitingRoom(clock) });
  return { clock, ceilings, settled };
}

const soon = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

describe("a place", () => {
  it("is held for longer than the call may take, also a whole answer that takes longer than any stream", async () => {
    const asked: ReserveRequest[] = [];
    const { ceilings } = bench((request) => {
      asked.push(request);
      return { ok: true };
    });
    await ceilings.take(workOf("r", { max_tokens: 64_000 }), hopOf("a", { concurrency: 1 }), new Cancel());
    // 64,000 tokens have 32 minutes.
    expect(asked[0]?.leaseMs).toBeGreaterThan(32 * 60_000);
    await ceilings.take(workOf("s", { stream: true }), hopOf("a", { concurrency: 1 }), new Cancel());
    expect(asked[1]?.leaseMs).toBeGreaterThan(600_000);
  });

  it("that comes too late is given back without the one that was taken elsewhere meanwhile", async () => {
    let grant = (_: ReserveResult): void => {};
    let asked = 0;
    const { clock, ceilings, settled } = bench((request) => {
      if (request.ceilings[0]?.key !== "full") return { ok: true };
      const full = { ok: false, scope: "deployment:full", dimension: "concurrency", retryAfterMs: 20 } as const;
      if (++asked === 1) return full;
      return new Promise<ReserveResult>((resolve) => {
        grant = resolve;
      });
    });
    const work = workOf("r", {}, { maxWaitMs: 100 });
    const first = ceilings.take(work, hopOf("full", { concurrency: 1 }), new Cancel());
    await soon();
    clock.advance(50);
    clock.advance(50);
    expect(await first).toMatchObject({ ok: false });
    const second = await ceilings.take(work, hopOf("free", { concurrency: 1 }), new Cancel());
    grant({ ok: true });
    await soon();
    if (isFull(second)) throw new Error("there is a place");
    expect(settled).toHaveLength(1);
    expect(settled).not.toContain(second.holder);
  });
});

describe("in line", () => {
  it("each try has a name of its own, and the one that got a place gives it back", async () => {
    const asked: string[] = [];
    const full = { ok: false, scope: "deployment:one", dimension: "concurrency", retryAfterMs: 20 } as const;
    const { clock, ceilings, settled } = bench(({ holder }) => {
      asked.push(holder);
      return asked.length < 3 ? full : { ok: true };
    });
    const taken = ceilings.take(workOf("r"), hopOf("one", { concurrency: 1 }), new Cancel());
    for (let i = 0; i < 5; i++) {
      await soon();
      clock.advance(20);
    }
    const hold = await taken;
    if (isFull(hold)) throw new Error("there is a place");
    expect(new Set(asked).size).toBe(3);
    ceilings.settle(hold, 0);
    expect(settled).toEqual(asked.slice(-1));
  });

  it.each([
    ["what no waiting makes fit", { dimension: "tokens", tooLarge: true }],
    ["what lacks a rate that its route does not wait for", { dimension: "requests" }],
  ] as const)("%s is told so when its turn comes, and keeps nobody behind it waiting", async (_, why) => {
    let free = 0;
    const { ceilings } = bench(({ holder }) => {
      if (holder.startsWith("odd")) return { ok: false, scope: "deployment:one", retryAfterMs: 60_000, ...why };
      if (free-- > 0) return { ok: true };
      return { ok: false, scope: "deployment:one", dimension: "concurrency", retryAfterMs: 1_000 };
    });
    const told: string[] = [];
    for (const name of ["front", "odd", "behind"]) {
      void ceilings.take(workOf(name), hopOf("one", { concurrency: 1 }), new Cancel()).then((answer) => {
        told.push(isFull(answer) ? `${name} ${answer.dimension}` : name);
      });
      await soon();
    }
    expect(told).toEqual([]);
    free = 2;
    ceilings.settle({ holder: "another", room: "one" }, null);
    await soon();
    expect(told).toEqual(["front", `odd ${why.dimension}`, "behind"]);
  });
});
