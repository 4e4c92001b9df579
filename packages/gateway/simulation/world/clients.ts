import type { ClientSpec, Leaving, Reading } from "../client/spec.ts";
import type { Chance } from "../core/chance.ts";
import type { ActKind } from "../upstream/act.ts";

/** What clients can ask for. */
export interface Market {
  horizonMs: number;
  /** Most goes wrong: there are many, so that it shows. */
  stormy: boolean;
  aliases: readonly string[];
  keys: readonly string[];
}

/** The clients of a run: a steady trickle, with crowds in it. */
export function clientsOf(chance: Chance, market: Market): ClientSpec[] {
  const count = market.stormy ? 50 : chance.pick([5, 12, 20, 30]);
  const crowded = chance.yes(0.4) ? chance.between(0, market.horizonMs) : null;
  return Array.from({ length: count }, (_, i) => {
    const own = chance.fork(`c${i}`);
    const inCrowd = crowded !== null && own.yes(0.5);
    const atMs = inCrowd ? crowded + own.between(0, 500) : own.between(0, market.horizonMs);
    const client = clientOf(own, `c${i}`, atMs, market);
    return own.yes(0.05) ? twinsOf(own, client) : [client];
  }).flat();
}

/** Two that ask for the same under one Idempotency-Key, one after the other. */
function twinsOf(chance: Chance, client: ClientSpec): ClientSpec[] {
  const sharedMark = `${client.name}.99`;
  const one = { ...client, sharedMark, headers: { ...client.headers, "idempotency-key": `key-${client.name}` } };
  const laterMs = client.atMs + chance.between(0, 6_000);
  return [
    one,
    { ...one, name: `${client.name}0000`, atMs: laterMs, leaving: { kind: "never" }, reading: { kind: "fast" } },
  ];
}

function clientOf(chance: Chance, name: string, atMs: number, { aliases, keys }: Market): ClientSpec {
  const stream = chance.yes(0.6);
  return {
    ...{ name, atMs, stream },
    key: chance.pick(keys),
    dialect: chance.pick(["openai-chat", "anthropic-messages"]),
    alias: chance.pick(aliases),
    metadata: chance.yes(0.2),
    showsUsage: chance.yes(0.5),
    promptChars: chance.int(0, 2_000),
    words: chance.pick([1, 3, 8, 20]),
    maxTokens: chance.pick([null, 64, 4_000]),
    wants: chance.yes(0.08) ? chance.pick<ActKind>(["filter", "overflow", "bad", "filtered"]) : null,
    sharedMark: null,
    toolResults: chance.yes(0.15),
    platform: platformOf(chance),
    headers: {},
    bodyPieces: chance.yes(0.2) ? chance.int(2, 4) : 1,
    bodyPaceMs: chance.pick([1, 300]),
    leaving: leavingOf(chance),
    reading: stream ? readingOf(chance) : { kind: "fast" },
    retries: chance.yes(0.4) ? 2 : 0,
  };
}

function platformOf(chance: Chance): Record<string, unknown> {
  return {
    ...(chance.yes(0.12) && { side_effecting: true }),
    ...(chance.yes(0.06) && { fallback: false }),
    ...(chance.yes(0.15) && { latency_budget_ms: chance.int(200, 15_000) }),
    ...(chance.yes(0.05) && { retry_after_tool_results: true }),
    ...(chance.yes(0.5) && { session_id: `s${chance.int(0, 5)}` }),
    ...(chance.yes(0.2) && { priority: chance.pick(["high", "low"]) }),
    ...(chance.yes(0.1) && { hedge: chance.yes(0.7) }),
    ...(chance.yes(0.2) && { task_class: chance.pick(["batch", "chat"]) }),
    ...(chance.yes(0.2) && { tags: { tier: chance.pick(["gold", "tin"]) } }),
    ...(chance.yes(0.3) && { user: `u${chance.int(0, 3)}` }),
  };
}

function leavingOf(chance: Chance): Leaving {
  switch (chance.weighted({ never: 75, after: 15, mid_answer: 8, mid_body: 2 })) {
    case "after":
      return { kind: "after", ms: chance.yes(0.3) ? chance.between(0, 5) : chance.between(5, 8_000) };
    case "mid_answer":
      return { kind: "mid_answer", ms: chance.between(0, 1_000) };
    case "mid_body":
      return { kind: "mid_body" };
    default:
      return { kind: "never" };
  }
}

function readingOf(chance: Chance): Reading {
  switch (chance.weighted({ fast: 8, slow: 1, stalls: 0.4 })) {
    case "slow":
      return { kind: "slow", everyMs: chance.between(50, 3_000) };
    case "stalls":
      return { kind: "stalls", leavesAfterMs: chance.between(1_000, 60_000) };
    default:
      return { kind: "fast" };
  }
}
