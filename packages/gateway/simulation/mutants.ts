import type { Snapshot } from "../src/config/snapshot.ts";
import type { BuiltPlane } from "./replica/plane.ts";
import type { Tilt } from "./world/plan.ts";

/** A product with one fault in it, laid over the real one: what the checks have to find. */
export interface Mutant {
  /** The promise that it breaks. */
  breaks: string;
  /** Worlds in which it shows soon. */
  tilt?: Tilt;
  /** Between the health board and whoever watches it. */
  inside?(built: BuiltPlane): void;
  /** Between whoever watches and the data plane. */
  outside?(built: BuiltPlane): void;
  /** The request as the gateway reads it. */
  body?(body: Buffer): Buffer;
}

/** Every row that is skipped, and every request that sees another config. */
const EVERY = 5;

/** All of them, by name. */
export const MUTANTS: Readonly<Record<string, Mutant>> = {
  side_effects_repeated: {
    breaks: "side effects happen once",
    body: (body) => Buffer.from(body.toString("utf8").replace('"side_effecting":true', '"side_effecting":false')),
  },
  tool_results_repeated: {
    breaks: "tool results are not repeated after an ambiguous failure",
    body: (body) => Buffer.from(withGateway(body.toString("utf8"), '"retry_after_tool_results":true')),
  },
  filter_overlooked: {
    breaks: "no failover of the forbidden kinds",
    outside({ plane }) {
      const { transport } = plane;
      const blurred = (chunk: Buffer): Buffer =>
        Buffer.from(chunk.toString("latin1").replaceAll(/content.filter(ing)?/g, "something"), "latin1");
      plane.transport = {
        retain: (keep) => transport.retain(keep),
        close: () => transport.close(),
        send: (request, sink) =>
          transport.send(request, {
            onSent: () => sink.onSent(),
            onHeaders: (status, headers) => sink.onHeaders(status === 400 ? 500 : status, headers),
            onData: (chunk) => sink.onData(blurred(chunk)),
            onEnd: () => sink.onEnd(),
            onError: (kind, message) => sink.onError(kind, message),
          }),
      };
    },
  },
  settled_twice: {
    breaks: "ledger: settled once",
    outside({ plane }) {
      const { ledger } = plane;
      const settle = ledger.settle.bind(ledger);
      ledger.settle = (row, attempts) => {
        settle(row, attempts);
        settle(row, attempts);
      };
    },
  },
  row_forgotten: {
    breaks: "ledger: settled once",
    outside({ plane }) {
      const { ledger } = plane;
      const settle = ledger.settle.bind(ledger);
      let rows = 0;
      ledger.settle = (row, attempts) => {
        if (++rows % EVERY !== 0) settle(row, attempts);
      };
    },
  },
  attempt_forgotten: {
    breaks: "ledger: one attempt a call",
    outside({ plane }) {
      const { ledger } = plane;
      const settle = ledger.settle.bind(ledger);
      ledger.settle = (row, attempts) => settle(row, attempts.slice(-1));
    },
  },
  overcharged: {
    breaks: "money: as billed",
    outside({ plane }) {
      const { ledger } = plane;
      const settle = ledger.settle.bind(ledger);
      ledger.settle = (row, attempts) => {
        const dearer = attempts.map((attempt) => ({ ...attempt, cost_micro_usd: attempt.cost_micro_usd + 1 }));
        settle({ ...row, cost_micro_usd: row.cost_micro_usd + attempts.length }, dearer);
      };
    },
  },
  abort_is_failure: {
    breaks: "only a deployment's own failures count against it",
    outside: ({ calm }) =>
      bendOutcomes(calm, (outcome) => (outcome.neutral ? { ...outcome, class: "timeout", neutral: false } : outcome)),
  },
  permit_kept: {
    breaks: "no leaks",
    outside: ({ calm }) => bendOutcomes(calm, (outcome) => (outcome.class === "cancelled" ? null : outcome)),
  },
  reservation_kept: {
    breaks: "no leaks",
    inside({ calm }) {
      const { state } = calm;
      const reserve = state.reserve.bind(state);
      state.reserve = (request) => reserve({ ...request, leaseMs: 24 * 3_600_000 });
      state.settle = () => {};
    },
  },
  cooldown_ignored: {
    breaks: "cooldowns are kept",
    tilt: { stormy: true },
    inside: ({ calm }) => passWhen(calm, "cooling"),
  },
  breaker_ignored: {
    breaks: "breakers hold",
    tilt: { stormy: true },
    inside: ({ calm }) => passWhen(calm, "open"),
  },
  probes_at_once: {
    breaks: "one probe at a time",
    tilt: { stormy: true, replicas: 3 },
    inside({ calm }) {
      calm.state.board.lease = async () => true;
    },
  },
  ceilings_ignored: {
    breaks: "ceilings hold",
    inside({ calm }) {
      calm.state.reserve = () => ({ ok: true });
    },
  },
  health_changes_rule: {
    breaks: "health never changes the rule",
    tilt: { stormy: true, ruled: true },
    outside(built) {
      const { calm } = built;
      const isIll = (): boolean => calm.health.keys().some((key) => calm.health.read(key).circuit !== "closed");
      bendConfig(built, isIll, (snapshot) => ({ ...snapshot, rules: [] }));
    },
  },
  canary_flips: {
    breaks: "a conversation never flips",
    outside(built) {
      let requests = 0;
      const routes = (snapshot: Snapshot): Snapshot["routes"] =>
        new Map([...snapshot.routes].map(([alias, route]) => [alias, { ...route, canary: [] }]));
      bendConfig(
        built,
        () => ++requests % EVERY === 0,
        (snapshot) => ({ ...snapshot, routes: routes(snapshot) }),
      );
    },
  },
  deadline_stretched: {
    breaks: "nobody waits past the deadline",
    outside({ plane }) {
      const { clock } = plane;
      plane.clock = {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        after: (ms, fn) => clock.after(ms * 1.3, fn),
      };
    },
  },
};

type Outcome = Parameters<
  Extract<Awaited<ReturnType<BuiltPlane["calm"]["health"]["permit"]>>, { ok: true }>["done"]
>[0];

/** Says something else of how calls went; null: nothing at all. */
function bendOutcomes({ health }: BuiltPlane["calm"], bend: (outcome: Outcome) => Outcome | null): void {
  const ask = health.permit.bind(health);
  type Answer = Awaited<ReturnType<typeof ask>>;
  const bent = (permit: Answer): Answer =>
    permit.ok
      ? {
          ok: true,
          probe: permit.probe,
          done(outcome) {
            const other = bend(outcome);
            if (other) permit.done(other);
          },
        }
      : permit;
  health.permit = (key) => {
    const answer = ask(key);
    return answer instanceof Promise ? answer.then(bent) : bent(answer);
  };
}

/** Lets calls through that are refused for this reason. */
function passWhen({ health }: BuiltPlane["calm"], why: "cooling" | "open"): void {
  const ask = health.permit.bind(health);
  health.permit = (key) => {
    const answer = ask(key);
    if (answer instanceof Promise || answer.ok || answer.why !== why) return answer;
    return health.pass(key);
  };
}

/** Another config for some requests. */
function bendConfig({ plane }: BuiltPlane, when: () => boolean, change: (snapshot: Snapshot) => Snapshot): void {
  const { runtime } = plane;
  const usual = runtime();
  const other = { ...usual, snapshot: change(usual.snapshot) };
  plane.runtime = () => (when() ? other : usual);
}

/** A platform field more, in a body that may or may not have some. */
function withGateway(body: string, member: string): string {
  return body.includes('"gateway":{')
    ? body.replace('"gateway":{', `"gateway":{${member},`)
    : body.replace(/^\{/, `{"gateway":{${member}},`);
}
