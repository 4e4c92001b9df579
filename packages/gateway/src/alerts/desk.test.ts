import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ScriptedTransport } from "../../test/support/scripted-transport.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import type { AlertTarget, Deployment, Route, Snapshot } from "../config/snapshot.ts";
import { systemClock } from "../core/clock.ts";
import { systemRandom } from "../core/random.ts";
import { Secret } from "../core/secret.ts";
import { createTransport } from "../http/upstream/transport.ts";
import { silentLog } from "../telemetry/log.ts";
import { AlertDesk } from "./desk.ts";
import type { UsersOf } from "./retiring.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let clock: VirtualClock;
let transport: ScriptedTransport;
let desk: AlertDesk;

beforeEach(() => {
  clock = new VirtualClock();
  transport = new ScriptedTransport((call) => call.sent().headers(200).end());
});
afterEach(() => desk.close());

function open(snapshot = aSnapshot(), usersOf?: UsersOf): void {
  const parts = { clock, transport, random: systemRandom(), log: silentLog };
  desk = new AlertDesk({ ...parts, ...(usersOf && { usersOf }) }, snapshot);
}

/** As much of a config as alerts read. */
function aSnapshot(changes: Partial<Pick<Deployment, "model" | "prices" | "retires">> = {}): Snapshot {
  const deployment = (name: string) => ({ name, model: `${name}-1`, provider: "sim", prices: [] });
  const big = { ...deployment("big"), ...changes };
  const route = (alias: string, chain: string[]): Partial<Route> => ({
    ...{ alias, chain, tenantOverrides: new Map(), canary: [], complexity: null },
  });
  return {
    alerts: [target("https://hooks.example/x")],
    deployments: new Map([
      ["big", big],
      ["small", deployment("small")],
    ]),
    providers: new Map([["sim", {}]]),
    routes: new Map([
      ["default", route("default", ["big", "small"])],
      ["fast", route("fast", ["small"])],
    ]),
    tenants: new Map([["acme", {}]]),
    rules: [],
  } as unknown as Snapshot;
}

function target(url: string): AlertTarget {
  return { url: new Secret(url, "literal"), format: "json", kinds: "*" };
}

/** What has been told, shortly. */
function told(): string[] {
  return transport.calls.map(({ request }) => {
    const { kind, state, text } = JSON.parse(String(request.body)) as Record<string, string>;
    return `${state} ${kind}: ${text}`;
  });
}

const lastBody = (): unknown => JSON.parse(String(transport.last.request.body));
/** Lets promises that are settled come to their listeners. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("circuits", () => {
  const news = { key: "big", why: "consecutive", by: "here" } as const;

  it("are told of when they open and when they are closed again, and not in between", () => {
    open();
    for (const kind of ["opened", "half_open", "opened", "half_open", "closed", "closed"] as const)
      desk.onBreakerEvent({ ...news, kind });
    expect(told()).toEqual([
      "firing breaker_opened: the circuit of big is open: too many calls in a row have failed; behind default",
      "resolved breaker_opened: the circuit of big is closed again",
    ]);
    expect(lastBody()).toMatchObject({ deployment: "big", alias: "default" });
  });

  it("are told of by the replica that saw it, whichever it was", () => {
    open();
    desk.onBreakerEvent({ ...news, kind: "opened", by: "elsewhere" });
    desk.onBreakerEvent({ ...news, kind: "closed" });
    desk.onBreakerEvent({ ...news, kind: "opened" });
    desk.onBreakerEvent({ ...news, kind: "closed", by: "elsewhere" });
    desk.onBreakerEvent({ ...news, kind: "opened", by: "hand" });
    expect(told().map((text) => text.split(" ")[0])).toEqual(["resolved", "firing", "firing"]);
  });

  it("of a tenant's own credential name the tenant", () => {
    open();
    desk.onBreakerEvent({ ...news, kind: "opened", key: "big of acme" });
    expect(lastBody()).toMatchObject({ deployment: "big", tenant: "acme" });
    desk.onBreakerEvent({ ...news, kind: "opened", key: "cup of tea" });
    expect(lastBody()).toMatchObject({ deployment: "cup of tea" });
  });

  it("of what is no longer configured are over", () => {
    open();
    desk.onBreakerEvent({ ...news, kind: "opened" });
    const without = aSnapshot();
    (without.deployments as Map<string, Deployment>).delete("big");
    desk.follow(without);
    expect(told()[1]).toBe("resolved breaker_opened: deployment big is no longer configured");
  });
});

describe("credentials", () => {
  it("are told of when the new one is refused, by tenant, until one is taken", () => {
    open();
    const news = { provider: "sim", generation: 2 };
    desk.onCredential({ ...news, kind: "refused", tenant: null });
    desk.onCredential({ ...news, kind: "refused", tenant: "acme" });
    expect(lastBody()).toMatchObject({ scope: "provider:sim", tenant: "acme" });
    desk.onCredential({ ...news, kind: "rotated", tenant: null });
    desk.onCredential({ ...news, kind: "rotated", tenant: null });
    expect(told().map((text) => text.slice(0, 70))).toEqual(
      [
        "firing credential_failure: provider sim refuses its new credential (gen",
        "firing credential_failure: provider sim refuses its new credential of ",
        "resolved credential_failure: provider sim takes its credential again",
      ].map((text) => text.slice(0, 70)),
    );
  });

  it("are told of when the one in use is refused, once for all deployments of the provider", () => {
    open();
    for (const key of ["big", "small"]) desk.onBreakerEvent({ kind: "cooled", key, why: "auth_failed", by: "here" });
    desk.onBreakerEvent({ kind: "cooled", key: "big", why: "rate_limited", by: "here" });
    expect(told()).toEqual(["firing credential_failure: provider sim refuses the credential in use for big"]);
    desk.onCredential({ kind: "rotated", provider: "sim", tenant: null, generation: 2 });
    expect(told().length).toBe(2);
  });
});

describe("models", () => {
  it("that move under their pin are told of once an hour, and are over when the pin moves or nobody sees it any more", () => {
    open();
    for (let minute = 0; minute < 90; minute++) {
      desk.onDrift({ name: "big", model: "big-1" }, "big-2");
      clock.advance(60_000);
    }
    const firing = "firing model_drift: deployment big pins big-1, but big-2 answers";
    expect(told()).toEqual([firing, firing]);
    desk.follow(aSnapshot());
    expect(told().length).toBe(2);
    desk.follow(aSnapshot({ model: "big-2" }));
    expect(told()[2]).toBe("resolved model_drift: over: deployment big pins big-1, but big-2 answers");
    desk.onDrift({ name: "openai/raw", model: "raw" }, "other");
    clock.advance(HOUR);
    expect(told()[4]).toMatch(/^resolved model_drift: not seen any more/);
  });

  it("without a price are told of until they have one", () => {
    open();
    desk.onMissingPrice({ name: "big", model: "big-1" });
    desk.onMissingPrice({ name: "big", model: "big-1" });
    desk.follow(aSnapshot({ prices: [{} as Deployment["prices"][number]] }));
    expect(told().map((text) => text.slice(0, 22))).toEqual(["firing missing_price: ", "resolved missing_price"]);
  });

  it("that end are told of 30 days ahead, each day, with who still uses them", async () => {
    const retires = { atMs: clock.now() + 30 * DAY + HOUR, announcedMs: null };
    open(aSnapshot({ retires }), async (names) => new Map(names.map((name) => [name, ["acme", "zeta"]])));
    await turn();
    expect(told()).toEqual([]);
    for (let day = 0; day < 3; day++) {
      clock.advance(DAY);
      await turn();
      desk.follow(aSnapshot({ retires }));
      await turn();
    }
    expect(told().length).toBe(3);
    expect(told()[0]).toMatch(
      /^firing model_retiring: big-1 of deployment big retires on 2026-12-29, in 30 days; still used by alias default; tenants acme, zeta: /,
    );
    expect(lastBody()).toMatchObject({ deployment: "big", alias: "default", value: 28, threshold: 30 });
    desk.follow(aSnapshot({ model: "big-3" }));
    expect(told()[3]).toMatch(/^resolved model_retiring/);
  });

  it("that end are told of although the ledger cannot be read", async () => {
    open(aSnapshot({ retires: { atMs: clock.now(), announcedMs: null } }), () => Promise.reject(new Error("gone")));
    await turn();
    expect(told()).toEqual([
      "firing model_retiring: big-1 of deployment big retired on 2026-11-29; still used by alias default: name its successor",
    ]);
  });
});

it("leaves no timer behind", () => {
  open();
  desk.onMissingPrice({ name: "big", model: "big-1" });
  desk.close();
  desk.onMissingPrice({ name: "big", model: "big-1" });
  desk.follow(aSnapshot());
  expect(clock.timers).toBe(0);
});

it("reaches a webhook over a real socket the moment a pinned model moves", async () => {
  const received: Record<string, unknown>[] = [];
  let arrived = (): void => {};
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const server: Server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += String(chunk);
    });
    request.on("end", () => {
      received.push({ path: request.url, type: request.headers["content-type"], ...JSON.parse(text) });
      response.end("ok");
      arrived();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const real = createTransport(systemClock);
  onTestFinished(async () => {
    await real.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?a=b`;
  const parts = { clock: systemClock, transport: real, random: systemRandom(), log: silentLog };
  desk = new AlertDesk(parts, { ...aSnapshot(), alerts: [target(url)] });
  desk.onDrift({ name: "big", model: "big-1" }, "big-2");
  await arrival;
  expect(received).toMatchObject([
    { path: "/hook?a=b", type: "application/json", kind: "model_drift", state: "firing", deployment: "big" },
  ]);
});
