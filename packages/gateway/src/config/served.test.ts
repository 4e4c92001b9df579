import { describe, expect, test } from "vitest";
import { SIM, testRefused } from "./test/expect-refused.ts";
import { lines, loadText } from "./test/load-text.ts";

/** Two deployments in two regions, and one that is kept for tenant `t`. */
const config = (parts: {
  route?: string;
  tenants: string;
  rest?: string;
  classes?: string;
}): string => `${SIM}gateway: { region: eu-west }
classifications: ${parts.classes ?? "[public, internal]"}
regions: { eu: [eu-west], all: [eu, us-east] }
deployments:
  eu: { provider: sim, model: a, region: eu-west, max_classification: internal }
  us: { provider: sim, model: b, region: us-east }
  own: { provider: sim, model: c, tenants: [t] }
routes:
  r: { ${parts.route ?? "chain: [eu, us]"} }
tenants:
  ${parts.tenants}
${parts.rest ?? ""}`;

/** The mark at the name of the route, where a tenant whose usual requests nothing may serve is told of. */
const atRoute = (text: string): string => text.replace("  r: {", "  ▸r: {");

describe("an alias that a tenant may ask for, and that nothing may answer", () => {
  testRefused([
    [
      "is kept for another",
      atRoute(config({ route: "chain: [own]", tenants: 't: { models: "*" }\n  u: { models: { allow: [r] } }' })),
      "routes.r",
      "tenant `u` may ask for `r`, and nothing of its chain may serve it: `own` is kept for `t`; add a deployment",
    ],
    [
      "is denied to it",
      atRoute(config({ tenants: 't: { models: { allow: "*", deny: ["deployment:eu", "sim/b"] } }' })),
      "routes.r",
      "`eu` is denied to it; `us` is denied to it",
    ],
    [
      "may not hold what its requests hold",
      atRoute(config({ route: "chain: [us]", tenants: 't: { models: "*", defaults: { classification: internal } }' })),
      "routes.r",
      "`us` may hold no more than `public`, not `internal`",
    ],
    [
      "may hold none of what its requests must say they hold",
      atRoute(
        config({
          route: "chain: [own]",
          tenants: 't: { models: "*" }\n  u: { models: "*", require: [classification] }',
        }),
      ),
      "routes.r",
      "tenant `u`",
    ],
    [
      "is not where its requests have to stay",
      atRoute(config({ route: "chain: [us]", tenants: 't: { models: "*", defaults: { residency: eu } }' })),
      "routes.r",
      "`us` runs in `us-east`, outside `eu`",
    ],
    [
      "is nobody knows where",
      atRoute(config({ route: "chain: [own]", tenants: 't: { models: "*", defaults: { residency: all } }' })),
      "routes.r",
      "`own` has no `region`, so it is outside `all`",
    ],
    [
      "is its own chain",
      config({
        route: "chain: [eu], tenant_overrides: { u: ▸[own] }",
        tenants: 't: { models: "*" }\n  u: { models: "*" }',
      }),
      "routes.r.tenant_overrides.u",
      "nothing of this chain may serve it: `own` is kept for `t`",
    ],
    [
      "is so for many",
      atRoute(
        config({
          route: "chain: [own]",
          tenants:
            't: { models: "*" }\n  a: { models: "*" }\n  b: { models: "*" }\n  c: { models: "*" }\n  d: { models: "*" }',
        }),
      ),
      "routes.r",
      "tenants `a`, `b`, `c` and 1 more may ask for `r`, and nothing of its chain may serve them",
    ],
  ]);

  test.each<[string, Parameters<typeof config>[0]]>([
    ["may not be asked for", { route: "chain: [own]", tenants: 't: { models: "*" }\n  u: { models: { allow: [] } }' }],
    ["has one that may", { route: "chain: [own, us]", tenants: 't: { models: "*" }\n  u: { models: "*" }' }],
    [
      "has a class that it may hold among those that must be said",
      {
        route: "chain: [us]",
        tenants: 't: { models: "*", require: [classification], defaults: { classification: internal } }',
      },
    ],
    [
      "has a region among those that must be said",
      { route: "chain: [us]", tenants: 't: { models: "*", require: [residency], defaults: { residency: eu } }' },
    ],
    [
      "is answered by a rule",
      {
        route: "chain: [us]",
        tenants: 't: { models: "*", defaults: { classification: internal } }',
        rest: "rules: [{ name: x, when: { classification: internal }, chain: [eu] }]\n",
      },
    ],
    [
      "is answered by an override",
      {
        route: "chain: [own], tenant_overrides: { u: [us] }",
        tenants: 't: { models: "*" }\n  u: { models: "*" }',
      },
    ],
  ])("is none where it %s", async (_, parts) => {
    expect((await loadText(config(parts))).problems.filter(({ severity }) => severity === "error")).toEqual([]);
  });

  test("is not helped by a rule that only watches, or that wants more than usual requests have", async () => {
    const tenants = 't: { models: "*", defaults: { classification: internal } }';
    for (const more of ["mode: shadow", "unless: { agent: y }"]) {
      const rest = `rules: [{ name: x, when: { classification: internal }, chain: [eu], ${more} }]\n`;
      expect((await loadText(config({ route: "chain: [us]", tenants, rest }))).snapshot).toBeNull();
    }
    const rest = "rules: [{ name: x, when: { classification: internal, agent: y }, chain: [eu] }]\n";
    expect((await loadText(config({ route: "chain: [us]", tenants, rest }))).snapshot).toBeNull();
  });

  test("is a doubt where a secret is missing", async () => {
    const text = config({
      route: "chain: [own, gone/gpt-4o-2024-11-20]",
      tenants: 't: { models: "*" }\n  u: { models: "*" }',
    }).replace("simulator }", "simulator }, gone: { kind: openai, api_key: env:MISSING }");
    const loaded = await loadText(text, { allowMissingSecrets: true });
    expect(loaded.snapshot).not.toBeNull();
    expect(lines(loaded)).toContainEqual(expect.stringMatching(/warning routes.r: tenant `u` may ask for `r`/));
  });
});

describe("a tenant whose requests have to stay elsewhere than this gateway runs", () => {
  test.each([
    ["gateway: { region: us-east }", "it runs in `us-east`"],
    ["", "`gateway.region` is not set"],
  ])("is told of: %s", async (gateway, says) => {
    const text = config({ tenants: 't: { models: "*", defaults: { residency: eu } }' });
    const loaded = await loadText(text.replace("gateway: { region: eu-west }", gateway));
    expect(loaded.snapshot).not.toBeNull();
    const residency = lines(loaded).filter((line) => line.includes("defaults.residency"));
    expect(residency).toEqual([
      `12:44 warning tenants.t.defaults.residency: this gateway refuses requests of \`t\` that name no other residency: they must stay in \`eu\`, and ${says}`,
    ]);
  });

  test("and a member of a group where nothing runs, but nearly", async () => {
    const text = `${SIM}deployments: { d: { provider: sim, model: m, region: eu-west } }
routes: { r: { chain: [d] } }
regions: { eu: [eu-wset, mars] }
`;
    expect(lines(await loadText(text))).toEqual([
      "4:17 warning regions.eu[0]: nothing runs in `eu-wset`; did you mean `eu-west`?",
    ]);
  });
});
