import { describe } from "vitest";
import { GOOD, keys, SIM, tenants, testRefused } from "./test/expect-refused.ts";

const HASH = `sha256:${"ab".repeat(32)}`;
const variables = { K: "a-secret-of-some-length" };

describe("tenants and permissions", () => {
  const allow = (text: string): string => tenants(`t: { models: { allow: [${text}] } }`);
  testRefused([
    [
      "an unknown alias",
      allow("▸defualt"),
      "tenants.t.models.allow[0]",
      "unknown alias `defualt`; did you mean `default`?",
    ],
    ["an unknown provider", allow("▸smi/echo"), "tenants.t.models.allow[0]", "unknown provider `smi`"],
    ["an unknown deployment", allow('▸"deployment:x"'), "tenants.t.models.allow[0]", "unknown deployment `x`"],
    ["a pattern of aliases", allow('▸"def*"'), "tenants.t.models.allow[0]", "is no pattern"],
    ["a star in the middle", allow('▸"sim/*/x"'), "tenants.t.models.allow[0]", "is no pattern"],
    ["half a star", allow('▸"sim/gpt*"'), "tenants.t.models.allow[0]", "is no pattern"],
    ["every provider", allow('▸"*/echo"'), "tenants.t.models.allow[0]", "is no pattern"],
    [
      "a deployment bare",
      `${SIM}deployments: { d: { provider: sim, model: a } }
routes: { default: { chain: [d] } }
tenants: { t: { models: { allow: [▸d] } } }
`,
      "tenants.t.models.allow[0]",
      "write `deployment:d`",
    ],
    [
      "a misspelt denial",
      tenants('t: { models: { allow: "*", deny: [▸fsat] } }'),
      "tenants.t.models.deny[0]",
      "unknown alias `fsat`",
    ],
    [
      "everything denied",
      tenants('t: { models: { allow: "*", deny: [▸"*"] } }'),
      "tenants.t.models.deny[0]",
      "leaves nothing",
    ],
    ["only a denial", tenants("t: { models: ▸{ deny: [default] } }"), "tenants.t.models", "`allow` is missing"],
  ]);
});

describe("keys", () => {
  testRefused(
    [
      ["no secret", keys("- ▸{ id: a, tenant: t }"), "keys[0]", "`hash` or `key` is missing"],
      ["two secrets", keys(`- ▸{ id: a, tenant: t, key: env:K, hash: "${HASH}" }`), "keys[0]", "both stand here"],
      ["a bare hash", keys(`- { id: a, tenant: t, hash: ▸"${"ab".repeat(32)}" }`), "keys[0].hash", "64 hex digits"],
      ["a short hash", keys('- { id: a, tenant: t, hash: ▸"sha256:abcd" }'), "keys[0].hash", "64 hex digits"],
      ["an id with _", keys(`- { id: ▸a_b, tenant: t, hash: "${HASH}" }`), "keys[0].id", "cannot be a key's id"],
      [
        "an id twice",
        keys(`- { id: a, tenant: t, hash: "${HASH}" }\n  - { id: ▸a, tenant: t, key: env:K }`),
        "keys[1].id",
        "the id `a` stands in `keys[0]` already",
      ],
      [
        "a key twice",
        keys(`- { id: a, tenant: t, hash: "${HASH}" }\n  - { id: b, tenant: t, hash: ▸"${HASH}" }`),
        "keys[1].hash",
        "the same key stands in `keys[0]` already",
      ],
      ["no tenant", keys(`- ▸{ id: a, hash: "${HASH}" }`), "keys[0]", "`tenant` is missing"],
      ["an unknown tenant", keys(`- { id: a, tenant: ▸u, hash: "${HASH}" }`), "keys[0].tenant", "unknown tenant `u`"],
      [
        "a tenant of none",
        `${GOOD}keys: [{ id: a, tenant: ▸acme, hash: "${HASH}" }]\n`,
        "keys[0].tenant",
        "unknown tenant `acme`",
      ],
      [
        "an unknown team",
        keys(`- { id: a, tenant: t, team: ▸paymnets, hash: "${HASH}" }`),
        "keys[0].team",
        "has no team `paymnets`; did you mean `payments`?",
      ],
      [
        "an unknown application",
        keys(`- { id: a, tenant: t, application: ▸bot, hash: "${HASH}" }`),
        "keys[0].application",
        "`bot`",
      ],
      [
        "an end that is none",
        keys(`- { id: a, tenant: t, hash: "${HASH}", expires: ▸soon }`),
        "keys[0].expires",
        "not a date",
      ],
      [
        "a model that is none",
        keys(`- { id: a, tenant: t, hash: "${HASH}", models: { allow: [▸x] } }`),
        "keys[0].models.allow[0]",
        "unknown alias `x`",
      ],
      [
        "an admin of nobody",
        `${GOOD}admin: { keys: [{ key: env:K, role: admin, tenant: ▸x }] }\n`,
        "admin.keys[0].tenant",
        "`x`",
      ],
      ["an admin without a key", `${GOOD}admin: { keys: [▸{ role: admin }] }\n`, "admin.keys[0]", "`hash` or `key`"],
    ],
    { variables },
  );
});
