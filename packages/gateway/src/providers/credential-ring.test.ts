import type { CredentialUse } from "@sluicegate/contract";
import { beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import type { ProviderConfig } from "../config/snapshot.ts";
import { systemRandom } from "../core/random.ts";
import { Secret } from "../core/secret.ts";
import { type CredentialEvent, CredentialRing, type RingParts, type Verdict } from "./credential-ring.ts";
import type { Prepared, Provider, Wanted } from "./provider.ts";

/** What a scripted provider has been asked. */
interface Scripted extends Provider {
  closed: boolean;
}

let clock: VirtualClock;
let verdicts: Map<string, Verdict>;
let tried: string[];
let told: CredentialEvent[];
let refetched: number;
/** What a look at the manager brings. */
let onRefetch: () => void;
let ring: CredentialRing;

beforeEach(() => {
  clock = new VirtualClock();
  verdicts = new Map();
  tried = [];
  told = [];
  refetched = 0;
  onRefetch = () => {};
  const parts: RingParts = {
    ...{ clock, random: { ...systemRandom(), float: () => 0.999 }, build: (config) => provider(keyOf(config)) },
    async tryOut(tested) {
      tried.push(keyOf(tested.config));
      return verdicts.get(keyOf(tested.config)) ?? "accepted";
    },
    async refetch() {
      refetched++;
      onRefetch();
    },
    told: (event) => told.push(event),
  };
  ring = new CredentialRing(parts, provider("one"), null, 1);
});

function keyOf(config: ProviderConfig): string {
  return config.apiKey?.reveal() ?? "";
}

function provider(key: string): Scripted {
  const config = { name: "up", apiKey: new Secret(key, "vault:x#y"), headers: {} } as unknown as ProviderConfig;
  const use: CredentialUse = { name: "up", generation: 1, owner: "shared" };
  const made: Scripted = {
    ...{ config, quirks: {} as never, protocols: [], closed: false },
    authenticator: {
      current: use,
      authenticate: () => ({ headers: [], use }),
      refused: () => {},
      close: () => {
        made.closed = true;
      },
    },
    request: () => ({ request: {} as never, credential: { use }, dropped: [] }),
  };
  return made;
}

/** A call of the generation in use. */
function call(): Prepared & { use: CredentialUse } {
  const prepared = ring.request({} as Wanted);
  const { use } = prepared.credential;
  if (!use) throw new Error("the call has no credential");
  return { ...prepared, use };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

describe("a new generation", () => {
  it("is tried, and used when it is taken", async () => {
    ring.offer(provider("two"));
    expect(call().use.generation).toBe(1);
    await settled();
    expect([tried, call().use]).toEqual([["two"], { name: "up", generation: 2, owner: "shared" }]);
    expect(told).toEqual([{ kind: "rotated", provider: "up", tenant: null, generation: 2 }]);
    expect(clock.timers).toBe(0);
  });

  it("leaves the old one to the calls that use it, and no longer", async () => {
    const first = provider("two");
    ring.offer(first);
    await settled();
    const [early, late] = [call(), call()];
    ring.offer(provider("three"));
    await settled();
    expect([call().use.generation, first.closed]).toEqual([3, false]);
    early.over?.();
    early.over?.();
    expect(first.closed).toBe(false);
    late.over?.();
    expect(first.closed).toBe(true);
  });

  it("that is refused is told of once, tried again, and used when it is taken after all", async () => {
    verdicts.set("two", "refused");
    ring.offer(provider("two"));
    await settled();
    expect([call().use.generation, ring.whole, told.length]).toEqual([1, false, 1]);
    clock.advance(30_000);
    await settled();
    expect([tried.length, told.length]).toEqual([2, 1]);
    verdicts.set("two", "accepted");
    clock.advance(60_000);
    await settled();
    expect([call().use.generation, ring.whole]).toEqual([2, true]);
  });

  it("that is refused and taken back leaves nothing behind", async () => {
    verdicts.set("two", "refused");
    const two = provider("two");
    ring.offer(two);
    await settled();
    ring.offer(provider("one"));
    expect([call().use.generation, ring.whole, two.closed, clock.timers]).toEqual([1, true, true, 0]);
  });

  it("that cannot be tried waits, and is used at once when the old one is refused", async () => {
    verdicts.set("two", "unclear");
    ring.offer(provider("two"));
    await settled();
    expect([call().use.generation, ring.whole]).toEqual([1, true]);
    expect(await ring.authenticator.refused(call().use)).toBe(true);
    expect(call().use.generation).toBe(2);
  });

  it("that is offered again while it is tried is tried once", async () => {
    ring.offer(provider("two"));
    const again = provider("two");
    ring.offer(again);
    await settled();
    expect([tried, again.closed]).toEqual([["two"], true]);
  });

  it("and a newer one that comes during its trial: the newer one is used", async () => {
    ring.offer(provider("two"));
    ring.offer(provider("three"));
    await settled();
    expect([call().use.generation, ring.config.apiKey?.reveal()]).toEqual([3, "three"]);
  });
});

describe("a refused call", () => {
  it("looks for a newer credential once, however many are refused at the same time", async () => {
    onRefetch = () => ring.offer(provider("two"));
    const calls = [call(), call(), call()];
    const answers = await Promise.all(calls.map(({ use }) => ring.authenticator.refused(use)));
    expect([answers, refetched, call().use.generation]).toEqual([[true, true, true], 1, 2]);
  });

  it("of an older generation has its newer one already", async () => {
    const { use } = call();
    ring.offer(provider("two"));
    await settled();
    expect([await ring.authenticator.refused(use), refetched]).toEqual([true, 0]);
  });

  it("for which there is no newer one is told so, and the manager left in peace for a second", async () => {
    const { use } = call();
    expect(await ring.authenticator.refused(use)).toBe(false);
    expect(await ring.authenticator.refused(use)).toBe(false);
    expect(refetched).toBe(1);
    clock.advance(1_000);
    await ring.authenticator.refused(use);
    expect(refetched).toBe(2);
  });

  it("whose newer credential is refused too stays refused", async () => {
    verdicts.set("two", "refused");
    onRefetch = () => ring.offer(provider("two"));
    expect(await ring.authenticator.refused(call().use)).toBe(false);
    expect(told.map(({ kind }) => kind)).toEqual(["refused"]);
  });
});

describe("secrets", () => {
  it("of every generation are known, and of a bounded number", async () => {
    for (let i = 0; i < 200; i++) {
      ring.offer(provider(`key-${i}`));
      await settled();
    }
    const known = ring.secrets.map((secret) => secret.reveal());
    expect(known.slice(0, 3)).toEqual(["key-199", "key-198", "key-197"]);
    expect(known.length).toBeLessThan(100);
  });
});
