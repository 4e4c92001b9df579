import type { Deployment, DeploymentLimits } from "../../src/config/snapshot.ts";
import type { Chance } from "../core/chance.ts";
import { nextAct, weatherOf } from "../upstream/mood.ts";
import type { UpstreamSpec } from "../upstream/upstreams.ts";
import { PROVIDERS, type Template } from "./template.ts";

/** A deployment of a world: its config, what it speaks, and what it does with a call. */
export interface PlannedUpstream extends Pick<UpstreamSpec, "speaks" | "act"> {
  deployment: Deployment;
}

/** How long a run is, and whether most goes wrong in it. */
export interface Sky {
  horizonMs: number;
  stormy: boolean;
}

/** One to five deployments, of either protocol, with prices, timeouts and ceilings of their own. */
export function upstreamsOf(chance: Chance, { deployment }: Template, sky: Sky): PlannedUpstream[] {
  const ceilings = chance.yes(0.4);
  return Array.from({ length: chance.int(1, sky.stormy ? 3 : 5) }, (_, i) => {
    const name = `d${i}`;
    const own = chance.fork(name);
    const speaks = own.pick(["chat", "messages"] as const);
    const limits = ceilings && own.yes(0.6) ? limitsOf(own) : null;
    const weather = weatherOf(own.fork("weather"), sky.horizonMs, sky.stormy);
    return {
      speaks,
      act: ({ atMs, wants, words }, draws) => nextAct(weather, atMs, draws, wants, words),
      deployment: {
        ...deployment,
        ...{ name, provider: PROVIDERS[speaks], model: `model-${name}-2026-01-01` },
        maxOutputTokens: speaks === "messages" ? 4_096 : null,
        prices: [{ fromMs: 0, price: priceOf(own) }],
        timeouts: {
          connectMs: own.pick([5_000, 1_000]),
          firstTokenMs: own.pick([null, null, 3_000, 8_000]),
          idleMs: own.pick([30_000, 5_000]),
        },
        breaker: { ...deployment.breaker, recoveryMs: own.pick([30_000, 5_000]), probes: own.pick([1, 2]) },
        ...(limits && { limits }),
        ...(own.yes(0.3) && { contextWindow: own.pick([8_192, 200_000]) }),
        ...(own.yes(0.3) && { expectedLatencyMs: own.int(200, 8_000) }),
      },
    };
  });
}

function priceOf(chance: Chance): Deployment["prices"][number]["price"] {
  const input = chance.int(100, 15_000) * 1_000_000;
  return {
    ...{ input, cachedInput: input >> 1, cacheWrite: input, cacheWrite1h: input, output: input * chance.int(2, 5) },
    ...{ tiers: [], source: "config" },
  };
}

function limitsOf(chance: Chance): DeploymentLimits {
  return {
    rpm: chance.pick([null, 10, 60]),
    tpm: chance.pick([null, 10_000, 60_000]),
    concurrency: chance.pick([null, 1, 3]),
    floors: new Map(),
  };
}
