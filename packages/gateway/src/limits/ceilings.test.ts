import { describe, expect, it } from "vitest";
import type { Deployment, DeploymentLimits, ProviderConfig, Snapshot } from "../config/snapshot.ts";
import { buildCeilings } from "./ceilings.ts";

const none = { rpm: null, tpm: null, concurrency: null };

/** Only what ceilings look at. */
function deployment(
  name: string,
  given: Partial<Omit<Deployment, "limits">> & { limits?: Partial<DeploymentLimits> } = {},
): Deployment {
  const { limits, ...rest } = given;
  return {
    ...{ name, provider: "p", model: "m", region: "eu" },
    ...rest,
    ...(limits ? { limits: { ...none, floors: new Map(), ...limits } } : {}),
  } as Deployment;
}

function ceilings(deployments: readonly Deployment[], account?: ProviderConfig["limits"]) {
  const provider = { name: "p", ...(account ? { limits: account } : {}) } as ProviderConfig;
  const snapshot: Pick<Snapshot, "deployments" | "providers"> = {
    deployments: new Map(deployments.map((one) => [one.name, one])),
    providers: new Map([["p", provider]]),
  };
  return buildCeilings(snapshot);
}

describe("ceilings of a deployment", () => {
  it("are none where nothing is limited", () => {
    const plain = deployment("a");
    expect(ceilings([plain])(plain, null)).toEqual([]);
    const empty = deployment("b", { limits: {} });
    expect(ceilings([empty], none)(empty, null)).toEqual([]);
  });

  it("are its allocation, then its provider's account, each named for who is full", () => {
    const a = deployment("a", { limits: { rpm: 5 } });
    const [own, account, ...more] = ceilings([a], { ...none, tpm: 9 })(a, null);
    expect(own).toMatchObject({ scope: "deployment:a", rpm: 5, tpm: null, concurrency: null });
    expect(account).toMatchObject({ scope: "provider:p", rpm: null, tpm: 9 });
    expect(more).toEqual([]);
  });

  it("are shared by deployments of one provider, model and region, and by no others", () => {
    const floors = new Map([["t", { rpm: 1, tpm: null }]]);
    const a = deployment("a", { limits: { rpm: 5, tpm: 900, floors } });
    const b = deployment("b", { limits: { rpm: 7, concurrency: 3, floors: new Map([["t", { rpm: 2, tpm: 50 }]]) } });
    const raw = deployment("p/m");
    const elsewhere = deployment("c", { region: "us" });
    const of = ceilings([a, b, elsewhere]);
    const [first] = of(a, null);
    expect(first).toMatchObject({ rpm: 5, tpm: 900, concurrency: 3, scope: "deployment:a" });
    // The smaller number is believed, of floors the larger.
    expect(first?.floors).toEqual(new Map([["t", { rpm: 2, tpm: 50 }]]));
    for (const other of [b, raw]) {
      expect(of(other, null)).toEqual([{ ...first, scope: `deployment:${other.name}` }]);
    }
    expect(of(elsewhere, null)).toEqual([]);
  });

  it("are a tenant's own where its credentials are, without floors", () => {
    const floors = new Map([["t", { rpm: 1, tpm: null }]]);
    const a = deployment("a", { limits: { rpm: 5, floors } });
    const of = ceilings([a], { ...none, rpm: 50 });
    const keys = [null, "t", "u"].flatMap((owner) => of(a, owner).map(({ key }) => key));
    expect(new Set(keys).size).toBe(6);
    expect(of(a, "t")[0]).toMatchObject({ rpm: 5, floors: new Map() });
  });

  it("keep the same keys in the next config, and cost a look-up", () => {
    const a = deployment("a", { limits: { rpm: 5 } });
    const of = ceilings([a]);
    expect(of(a, null)).toBe(of(a, null));
    const later = deployment("renamed", { limits: { rpm: 50 } });
    expect(ceilings([later])(later, null)[0]?.key).toBe(of(a, null)[0]?.key);
  });

  it("are not mixed up by names with signs in them", () => {
    const places = [
      { provider: "p", model: "a@b", region: null },
      { provider: "p", model: "a", region: "b" },
      { provider: "p", model: 'a","b', region: null },
      { provider: "p", model: "a", region: null },
      { provider: "p", model: "a", region: "null" },
    ];
    const all = places.map((place, i) => deployment(`${i}`, { ...place, limits: { rpm: 1 } }));
    const of = ceilings(all);
    expect(new Set(all.map((one) => of(one, null)[0]?.key)).size).toBe(places.length);
  });
});
