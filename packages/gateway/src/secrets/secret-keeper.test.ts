import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../test/support/until.ts";
import { startVault, type VaultServer } from "../../test/support/vault-server.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { systemRandom } from "../core/random.ts";
import { SECRET_BOUNDS } from "./bounds.ts";
import { SecretKeeper } from "./secret-keeper.ts";
import { vault } from "./vault.ts";

const KV = "vault:secret/data/llm";
const DYNAMIC = "vault:database/creds/llm";
const MINUTE = 60_000;
/** When a value that is at hand for five minutes is read anew, with the most of chance. */
const REFRESH = 4.75 * MINUTE;

let server: VaultServer;
let clock: VirtualClock;
let keeper: SecretKeeper;
let changes: number;
let told: [string, string | null][];

beforeEach(async () => {
  server = await startVault();
  server.secrets.set("llm", { key: "one" });
  clock = new VirtualClock();
  changes = 0;
  told = [];
  const get = (name: string): string | undefined => ({ VAULT_ADDR: server.url, VAULT_TOKEN: "root" })[name];
  keeper = new SecretKeeper({
    ...{ clock, random: { ...systemRandom(), float: () => 0.999 } },
    managers: { vault: vault({ fetch, clock, get }) },
    changed: async () => void changes++,
    told: (document, fault) => told.push([document, fault]),
  });
});
afterEach(async () => {
  keeper.close();
  await server.stop();
});

const kv = () => keeper.lookUp("vault", "secret/data/llm#key");
const dynamic = () => keeper.lookUp("vault", "database/creds/llm#password");
/** Moves the clock, and waits for the questions that this raises. */
async function pass(ms: number, asked: number): Promise<void> {
  const before = server.asked.length;
  clock.advance(ms);
  await until(`${asked} questions`, () => server.asked.length >= before + asked);
  await until("the next timer", () => clock.timers > 0 && keeper.idle);
  expect(server.asked.length - before).toBe(asked);
}

describe("a value", () => {
  it("is at hand for five minutes, and read anew a little before they are over", async () => {
    expect(await kv()).toMatchObject({ value: "one" });
    expect(await kv()).toMatchObject({ value: "one" });
    expect(server.asked).toHaveLength(1);
    keeper.retain(new Set([KV]));
    await pass(3.9 * MINUTE, 0);
    server.secrets.set("llm", { key: "two" });
    await pass(0.85 * MINUTE, 1);
    expect(changes).toBe(1);
    expect(await kv()).toMatchObject({ value: "two" });
    expect(server.asked).toHaveLength(2);
  });

  it("that is the same again is no change", async () => {
    await kv();
    keeper.retain(new Set([KV]));
    await pass(REFRESH, 1);
    expect(changes).toBe(0);
  });

  it("is asked for once, however many want it at the same time", async () => {
    await Promise.all([kv(), kv(), kv()]);
    expect(server.asked).toHaveLength(1);
  });

  it("that nothing refers to any more is forgotten, and its timer with it", async () => {
    await kv();
    keeper.retain(new Set([KV]));
    expect(clock.timers).toBe(1);
    keeper.retain(new Set());
    expect(clock.timers).toBe(0);
    await kv();
    expect(server.asked).toHaveLength(2);
  });

  it("is read at once when it was refused", async () => {
    await kv();
    keeper.retain(new Set([KV]));
    server.secrets.set("llm", { key: "two" });
    await Promise.all([keeper.refetch([KV]), keeper.refetch([KV])]);
    expect(server.asked).toHaveLength(2);
    expect(changes).toBeGreaterThan(0);
    expect(await kv()).toMatchObject({ value: "two" });
  });
});

describe("a manager that goes down", () => {
  it("leaves its last value in use, is asked again with back-off, and is told of once", async () => {
    await kv();
    keeper.retain(new Set([KV]));
    server.trouble("error");
    await pass(REFRESH, 1);
    expect(keeper.state().state).toBe("degraded");
    await pass(1_000, 1);
    await pass(2_000, 1);
    await pass(1_000, 0);
    await pass(3_000, 1);
    expect(await kv()).toMatchObject({ value: "one" });
    expect(told).toEqual([[KV, expect.stringContaining("answered 503")]]);
    server.trouble("none");
    server.secrets.set("llm", { key: "two" });
    await pass(8_000, 1);
    expect(keeper.state().state).toBe("ok");
    expect(changes).toBe(1);
    expect(told.at(-1)).toEqual([KV, null]);
  });

  it.each(["denied", "garbage"] as const)("or is %s, does too", async (trouble) => {
    await kv();
    keeper.retain(new Set([KV]));
    server.trouble(trouble);
    await pass(REFRESH, 1);
    expect(keeper.state().state).toBe("degraded");
    expect(await kv()).toMatchObject({ value: "one" });
    expect(changes).toBe(0);
  });

  it("and one that hangs is given up", async () => {
    server.trouble("hangs");
    const asked = kv();
    await until("the question", () => server.asked.length === 1);
    clock.advance(SECRET_BOUNDS.askMs);
    expect(await asked).toMatchObject({ missing: expect.stringMatching(/within 5000 ms/) });
  });
});

describe("a leased secret", () => {
  it("is renewed at half of its time, and stays what it is", async () => {
    expect(await dynamic()).toMatchObject({ value: "password-1" });
    keeper.retain(new Set([DYNAMIC]));
    await pass(4 * MINUTE, 0);
    await pass(MINUTE, 1);
    expect(server.renewals).toBe(1);
    await pass(5 * MINUTE, 1);
    expect(server.renewals).toBe(2);
    // Longer than its first lease, and than a value without one is at hand.
    expect(await dynamic()).toMatchObject({ value: "password-1" });
    expect(changes).toBe(0);
  });

  it("that cannot be renewed is followed by a new one", async () => {
    await dynamic();
    keeper.retain(new Set([DYNAMIC]));
    server.leases.clear();
    await pass(5 * MINUTE, 2);
    expect(changes).toBe(1);
    expect(await dynamic()).toMatchObject({ value: "password-2" });
  });

  it("that is renewed for less and less is followed by a new one", async () => {
    await dynamic();
    keeper.retain(new Set([DYNAMIC]));
    for (const id of server.leases.keys()) server.leases.set(id, 60);
    await pass(5 * MINUTE, 2);
    expect(await dynamic()).toMatchObject({ value: "password-2" });
  });

  it("whose manager is away is renewed when it is back", async () => {
    await dynamic();
    keeper.retain(new Set([DYNAMIC]));
    server.trouble("error");
    await pass(5 * MINUTE, 1);
    expect(keeper.state().state).toBe("degraded");
    server.trouble("none");
    await pass(1_000, 1);
    expect(server.renewals).toBe(1);
    expect(await dynamic()).toMatchObject({ value: "password-1" });
    expect(keeper.state().state).toBe("ok");
  });
});
