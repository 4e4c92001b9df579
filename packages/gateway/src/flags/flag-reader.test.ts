import type { Provider, ResolutionDetails } from "@openfeature/server-sdk";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { FLAG_BOUNDS } from "./bounds.ts";
import { EnvProvider, variableOf } from "./env-provider.ts";
import { type FlagContext, FlagReader, type FlagValues } from "./flag-reader.ts";

const PREFIX = "SLUICEGATE_FLAG_";

let clock: VirtualClock;
let variables: Map<string, string>;
let warnings: Record<string, unknown>[];
let reader: FlagReader;
let count = 0;

beforeEach(() => {
  clock = new VirtualClock();
  variables = new Map();
  warnings = [];
  reader = new FlagReader({
    ...{ clock, environment: { get: (name) => variables.get(name) }, domain: `test ${++count}` },
    log: { warn: (message, facts = {}) => warnings.push({ message, ...facts }) },
  });
});
afterEach(() => reader.close());

const context = (changes: Partial<FlagContext> = {}): FlagContext => ({
  ...{ session: null, tenant: "acme", team: null, application: null, alias: "default", environment: null },
  ...changes,
});

/** What a flag says to this context. */
async function says(flag: string, asked = context()): Promise<boolean | undefined> {
  return (await reader.read([flag], asked))[flag];
}

describe("flags of the environment", () => {
  beforeEach(() => reader.follow({ provider: "env", prefix: PREFIX }));

  it.each([
    ["true", true],
    ["TRUE ", true],
    ["1", true],
    ["on", true],
    ["false", false],
    ["0", false],
    ["Off", false],
    ["no", false],
    ["100%", true],
    ["0%", false],
    ["", true],
  ])("%j is %s", async (text, expected) => {
    variables.set("SLUICEGATE_FLAG_ROUTE_CANARY_NEXT", text);
    expect(await says("route-canary-next")).toBe(expected);
    expect(warnings).toEqual([]);
  });

  it("are on where they are not set, and where nobody can read them, which is told once and without the value", async () => {
    variables.set("SLUICEGATE_FLAG_ODD", "secret-value");
    variables.set("SLUICEGATE_FLAG_MUCH", "101%");
    for (const session of ["a", "b"])
      expect(await reader.read(["odd", "much", "unset"], context({ session }))).toEqual({
        ...{ odd: true, much: true, unset: true },
      });
    expect(warnings.map(({ flag }) => flag)).toEqual(["odd", "much"]);
    expect(JSON.stringify(warnings)).toContain("SLUICEGATE_FLAG_ODD is not true, false or a share");
    expect(JSON.stringify(warnings)).not.toContain("secret-value");
  });

  it("are variables by their names in capitals, with `_` for what a variable cannot hold", () => {
    expect(variableOf(PREFIX, "route-canary.next 2")).toBe("SLUICEGATE_FLAG_ROUTE_CANARY_NEXT_2");
  });

  it("that are a share hold for as many targeting keys, always the same ones, and for more as it grows", async () => {
    const provider = (text: string): EnvProvider => new EnvProvider({ get: () => text }, PREFIX);
    const on = async (text: string, flag: string, key: string): Promise<boolean> =>
      (await provider(text).resolveBooleanEvaluation(flag, true, { targetingKey: key })).value;
    let held = 0;
    let both = 0;
    for (let i = 0; i < 4_000; i++) {
      const first = await on("25%", "one", `s${i}`);
      held += Number(first);
      both += Number(first && (await on("25%", "two", `s${i}`)));
    }
    expect(Math.abs(held / 4_000 - 0.25)).toBeLessThan(0.03);
    // Flags are independent of each other.
    expect(Math.abs(both / 4_000 - 0.0625)).toBeLessThan(0.02);
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.nat(100), fc.nat(100), async (key, a, b) => {
        const [less, more] = a < b ? [a, b] : [b, a];
        if (await on(`${less}%`, "one", key)) expect(await on(`${more}%`, "one", key)).toBe(true);
      }),
    );
  });

  it("hold for the session, else for the tenant", async () => {
    variables.set("SLUICEGATE_FLAG_HALF", "50%");
    const bySession = await Promise.all(
      ["s1", "s2", "s3", "s4", "s5", "s6"].map((session) => says("half", context({ session }))),
    );
    expect(new Set(bySession).size).toBe(2);
    const teams = await Promise.all(["a", "b", "c", "d", "e", "f"].map((team) => says("half", context({ team }))));
    expect(new Set(teams).size).toBe(1);
  });

  it("are told at once when they are known, and looked at anew after a while and at a reload", async () => {
    variables.set("SLUICEGATE_FLAG_A", "true");
    expect(reader.read(["a"], context())).toBeInstanceOf(Promise);
    expect(await says("a")).toBe(true);
    variables.set("SLUICEGATE_FLAG_A", "false");
    expect(reader.read(["a"], context())).toEqual({ a: true });
    clock.advance(FLAG_BOUNDS.keptMs);
    expect(await says("a")).toBe(false);
    variables.set("SLUICEGATE_FLAG_A", "true");
    reader.follow({ provider: "env", prefix: PREFIX });
    expect(await says("a")).toBe(true);
  });

  it("are all on without a config, at once", () => {
    variables.set("SLUICEGATE_FLAG_A", "false");
    reader.follow(null);
    expect(reader.read(["a"], context())).toEqual({ a: true });
    expect(reader.read([], context())).toEqual({});
  });
});

describe("another provider", () => {
  /** Answers when the test says so. */
  function aProvider() {
    const asked: { flag: string; context: unknown; answer: (value: boolean) => void; fail: (error: Error) => void }[] =
      [];
    const resolveBooleanEvaluation: Provider["resolveBooleanEvaluation"] = (flag, _, asking) =>
      new Promise<ResolutionDetails<boolean>>((resolve, fail) =>
        asked.push({ flag, context: asking, answer: (value) => resolve({ value }), fail }),
      );
    const provider = { metadata: { name: "slow" }, resolveBooleanEvaluation } as unknown as Provider;
    return { asked, provider };
  }

  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it("is told who asks", async () => {
    const { asked, provider } = aProvider();
    reader.use(provider);
    void reader.read(["a"], context({ session: "s1", team: "core", environment: "prod" }));
    await turn();
    expect(asked[0]?.context).toEqual({
      ...{ targetingKey: "s1", tenant: "acme", team: "core", alias: "default", environment: "prod" },
    });
  });

  it("is waited for within a budget; what comes later is for the next request", async () => {
    const { asked, provider } = aProvider();
    reader.use(provider);
    let values: FlagValues | null = null;
    void Promise.resolve(reader.read(["a", "b"], context())).then((read) => {
      values = read;
    });
    await turn();
    asked[0]?.answer(false);
    await turn();
    clock.advance(FLAG_BOUNDS.budgetMs - 1);
    await turn();
    expect(values).toBeNull();
    clock.advance(1);
    await turn();
    expect(values).toEqual({ a: false, b: true });
    asked[1]?.answer(false);
    await turn();
    expect(values).toEqual({ a: false, b: true });
    expect(reader.read(["a", "b"], context())).toEqual({ a: false, b: false });
    expect(clock.timers).toBe(0);
  });

  it("is asked once for many, and says what it said last where it fails", async () => {
    const { asked, provider } = aProvider();
    reader.use(provider);
    const many = [1, 2, 3].map(() => reader.read(["a"], context()));
    await turn();
    expect(asked.length).toBe(1);
    asked[0]?.answer(false);
    expect(await Promise.all(many)).toEqual([{ a: false }, { a: false }, { a: false }]);
    clock.advance(FLAG_BOUNDS.keptMs);
    const again = reader.read(["a"], context());
    await turn();
    asked[1]?.fail(new Error("no answer"));
    expect(await again).toEqual({ a: false });
    expect(warnings).toMatchObject([{ flag: "a" }]);
  });

  it("that hangs is asked a bounded number of questions", async () => {
    const { asked, provider } = aProvider();
    reader.use(provider);
    for (let i = 0; i < FLAG_BOUNDS.pendingMax + 500; i++) void reader.read(["a"], context({ session: `s${i}` }));
    await turn();
    expect(asked.length).toBe(FLAG_BOUNDS.pendingMax);
  });

  it("that was replaced has nothing more to say", async () => {
    const { asked, provider } = aProvider();
    reader.use(provider);
    void reader.read(["a"], context());
    await turn();
    reader.follow({ provider: "env", prefix: PREFIX });
    asked[0]?.answer(false);
    await turn();
    expect(await says("a")).toBe(true);
  });
});
