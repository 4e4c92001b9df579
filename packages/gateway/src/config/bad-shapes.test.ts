import { describe } from "vitest";
import { deployment, GOOD, price, provider, routes, tenants, testRefused } from "./test/expect-refused.ts";

describe("unknown, misspelt and unimplemented keys", () => {
  testRefused([
    ["a misspelt section", `${GOOD}▸tenant: {}\n`, "tenant", "unknown key `tenant`; did you mean `tenants`?"],
    ["an unimplemented section", `${GOOD}▸guardrails: {}\n`, "guardrails", "does not implement `guardrails`"],
    ["a misspelt unimplemented one", `${GOOD}▸gaurdrails: {}\n`, "gaurdrails", "did you mean `guardrails`?"],
    ["chian", routes("default: { chain: [sim/echo], ▸chian: [x] }"), "routes.default.chian", "did you mean `chain`?"],
    ["a missing key", routes("▸default: { fallback: true }"), "routes.default", "`chain` is missing"],
    ["a key like no other", `${GOOD}gateway: { ▸zzz: 1 }\n`, "gateway.zzz", "known are `listen`, `region`"],
    ["a cache", routes("default: { chain: [sim/echo], ▸cache: {} }"), "routes.default.cache", "does not implement"],
    [
      "latencies of alerts",
      `${GOOD}alerts: [{ url: "http://h", ▸latency: {} }]\n`,
      "alerts[0].latency",
      "not implement",
    ],
    ["a grant", tenants("t: { allow: [▸cache_force] }"), "tenants.t.allow[0]", "not implemented"],
    [
      "a misspelt entry of a chain",
      routes("default: { chain: [{ ▸deploymnet: sim/echo }] }"),
      "routes.default.chain[0].deploymnet",
      "did you mean `deployment`?",
    ],
    [
      "limits of a team",
      tenants("t: { teams: { a: { ▸limits: {} } } }"),
      "tenants.t.teams.a.limits",
      "does not implement",
    ],
    ["budgets of a key", `${GOOD}keys: [{ id: a, ▸budgets: [] }]\n`, "keys[0].budgets", "does not implement"],
    ["admin.oidc", `${GOOD}admin: { ▸oidc: {} }\n`, "admin.oidc", "does not implement `oidc`"],
    [
      "misspelt in a tier",
      price("{ input: 1, output: 1, tiers: [{ above: 1, ▸inptu: 2 }] }"),
      "deployments.d.price.tiers[0].inptu",
      "did you mean `input`?",
    ],
    [
      "misspelt in a list of prices",
      price("[{ input: 1, output: 1, ▸form: x }]"),
      "deployments.d.price[0].form",
      "`from`?",
    ],
  ]);
});

describe("names", () => {
  const long = "a".repeat(129);
  testRefused([
    ["a space", "providers:\n  ▸a b: { kind: simulator }\n", 'providers["a b"]', "cannot be a name"],
    ["a provider with a slash", "providers:\n  ▸a/b: { kind: simulator }\n", 'providers["a/b"]', "cannot be a name"],
    ["a tenant with a colon", tenants('▸"a:b": {}'), 'tenants["a:b"]', "cannot be a name"],
    ["a team with a slash", tenants("t: { teams: { ▸a/b: {} } }"), 'tenants.t.teams["a/b"]', "cannot be a name"],
    ["a reserved alias", routes('▸"deployment:x": { chain: [sim/a] }'), 'routes["deployment:x"]', "cannot be a name"],
    ["too long", `providers:\n  ▸${long}: { kind: simulator }\n`, `providers.${long}`, "longer than 128"],
  ]);
});

describe("shapes", () => {
  testRefused([
    ["a number for a map", "providers:\n  x: ▸3\n", "providers.x", "`3` is a number; a map is wanted"],
    ["a list for a map of names", "providers:\n  ▸- sim\n", "providers", "is not a map of names"],
    ["a list for a map", `${GOOD}gateway: ▸[a]\n`, "gateway", "`gateway` is a list; a map is wanted"],
    ["a map for a list", `${GOOD}keys: ▸{ a: 1 }\n`, "keys", "is not a list"],
    [
      "a text for a list",
      routes("default: { chain: ▸sim/echo }"),
      "routes.default.chain",
      "`sim/echo` is a text; a list",
    ],
    ["a number in a chain", routes("default: { chain: [▸5] }"), "routes.default.chain[0]", "a text or a map is wanted"],
    ["a number for a text", deployment("d: { provider: sim, model: ▸5 }"), "deployments.d.model", "`5` is not a text"],
    ["an empty text", deployment('d: { provider: sim, model: ▸"" }'), "deployments.d.model", "must not be empty"],
    [
      "a text for a boolean",
      routes('default: { chain: [sim/a], fallback: ▸"no" }'),
      "routes.default.fallback",
      "true or false",
    ],
    [
      "yes, a text in YAML 1.2",
      routes("default: { chain: [sim/a], fallback: ▸yes }"),
      "routes.default.fallback",
      "`yes` is not",
    ],
    ["an empty chain", routes("default: { chain: ▸[] }"), "routes.default.chain", "is empty"],
    [
      "a long chain",
      routes(`default: { chain: ▸[${Array.from({ length: 33 }, (_, i) => `sim/m${i}`).join(", ")}] }`),
      "routes.default.chain",
      "longer than 32",
    ],
    [
      "a text for models",
      tenants("t: { models: ▸all }"),
      "tenants.t.models",
      "`all` is a text; `*` or a map is wanted",
    ],
    ["a team that is not empty", tenants("t: { teams: { a: ▸5 } }"), "tenants.t.teams.a", "a map is wanted"],
  ]);
});

describe("units and closed sets", () => {
  testRefused([
    [
      "a duration without a unit",
      `${GOOD}gateway: { drain_timeout: ▸30 }\n`,
      "gateway.drain_timeout",
      "ms, s, m, h, d",
    ],
    ["a bad unit", `${GOOD}gateway: { drain_timeout: ▸5 min }\n`, "gateway.drain_timeout", "`5 min` is not a duration"],
    ["two units", `${GOOD}gateway: { drain_timeout: ▸1h30m }\n`, "gateway.drain_timeout", "is not a duration"],
    [
      "no time",
      routes("default: { chain: [sim/a], timeouts: { hop: ▸0s } }"),
      "routes.default.timeouts.hop",
      "more than 0",
    ],
    [
      "beyond timers",
      routes("default: { chain: [sim/a], timeouts: { hop: ▸30d } }"),
      "routes.default.timeouts.hop",
      "24d",
    ],
    ["a bad size", `${GOOD}gateway: { body_limit: ▸32MB }\n`, "gateway.body_limit", "one of B, KiB, MiB, GiB, TiB"],
    ["a size of nothing", `${GOOD}gateway: { body_limit: ▸0B }\n`, "gateway.body_limit", "more than 0"],
    [
      "keepalive",
      routes("default: { chain: [sim/a], keepalive: ▸of }"),
      "routes.default.keepalive",
      "`of` is not a duration",
    ],
    ["no package", provider("▸x: { kind: ai-sdk }"), "providers.x", "`package` is missing"],
    [
      "a package that is not there",
      provider("x: { kind: ai-sdk, package: ▸'@ai-sdk/nowhere' }"),
      "providers.x.package",
      "npm install @ai-sdk/nowhere",
    ],
    [
      "a package's base URL",
      provider("x: { kind: ai-sdk, package: '@ai-sdk/openai', base_url: ▸'http://x/v1' }"),
      "providers.x.base_url",
      "`base_url` has no meaning for kind ai-sdk",
    ],
    [
      "options of another kind",
      provider("x: { kind: openai, options: ▸{ a: 1 } }"),
      "providers.x.options",
      "only for ai-sdk",
    ],
    [
      "a misspelt kind",
      provider("x: { kind: ▸openai-compatble }"),
      "providers.x.kind",
      "did you mean `openai-compatible`?",
    ],
    [
      "a preset",
      provider("x: { kind: openai-compatible, preset: ▸olama }"),
      "providers.x.preset",
      "did you mean `ollama`?",
    ],
    ["a value of no set", `${GOOD}gateway: { expose: ▸some }\n`, "gateway.expose", "it is one of `full`, `minimal`"],
    ["an unimplemented field", tenants("t: { require: [▸cache_class] }"), "tenants.t.require[0]", "not implemented"],
    ["a misspelt field", tenants("t: { require: [▸clasification] }"), "tenants.t.require[0]", "`classification`?"],
    [
      "a share",
      routes("default: { chain: [sim/a], retries: { budget: ▸20 } }"),
      "routes.default.retries.budget",
      "0 and 1",
    ],
    [
      "half a call",
      routes("default: { chain: [sim/a], retries: { attempts: ▸1.5 } }"),
      "routes.default.retries.attempts",
      "whole",
    ],
    [
      "many calls",
      routes("default: { chain: [sim/a], retries: { attempts: ▸13 } }"),
      "routes.default.retries.attempts",
      "at most 12",
    ],
    [
      "no connections",
      provider("x: { kind: simulator, pool: { connections: ▸0 } }"),
      "providers.x.pool.connections",
      "at least 1",
    ],
    ["a role", `${GOOD}admin: { keys: [{ role: ▸root }] }\n`, "admin.keys[0].role", "it is one of `admin`"],
    ["a negative price", price("{ input: ▸-1, output: 1 }"), "deployments.d.price.input", "must not be negative"],
    ["a price in words", price("{ input: ▸cheap, output: 1 }"), "deployments.d.price.input", "is not a number"],
    ["a price in quotes", price('{ input: ▸"2.50", output: 1 }'), "deployments.d.price.input", "is not a number"],
    ["a price a token", price("{ input: ▸1000001, output: 1 }"), "deployments.d.price.input", "unit mistake"],
    ["not a number", price("{ input: ▸.nan, output: 1 }"), "deployments.d.price.input", "is not a number"],
    ["infinity", price("{ input: ▸.inf, output: 1 }"), "deployments.d.price.input", "is not a number"],
    ["finer than nano", price("{ input: ▸0.0000000001, output: 1 }"), "deployments.d.price.input", "nano-dollar"],
    [
      "no output price",
      deployment("d: { provider: sim, model: echo, ▸price: { input: 1 } }"),
      "deployments.d.price",
      "`output` is missing",
    ],
    [
      "a day that does not exist",
      price("{ input: 1, output: 1, from: ▸2026-02-30 }"),
      "deployments.d.price.from",
      "not a date",
    ],
    ["an American date", price("{ input: 1, output: 1, from: ▸01/02/2026 }"), "deployments.d.price.from", "not a date"],
  ]);
});
