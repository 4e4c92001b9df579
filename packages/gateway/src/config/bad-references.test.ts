import { describe } from "vitest";
import { deployment, GOOD, keys, price, provider, routes, SIM, testRefused } from "./test/expect-refused.ts";

const variables = { K: "a-secret-of-some-length", BROKEN: "two\nlines" };

describe("gateway and ledger", () => {
  testRefused([
    ["a port alone", `${GOOD}gateway: { listen: ▸8080 }\n`, "gateway.listen", "is not host:port"],
    [
      "a port that is none",
      `${GOOD}gateway: { listen: "127.0.0.1:99999" }\n`.replace('"1', '▸"1'),
      "gateway.listen",
      "host:port",
    ],
    ["open to all", `${GOOD}gateway: { listen: ▸0.0.0.0:80 }\n`, "gateway.listen", "needs `keys`"],
    ["open by IPv6", `${GOOD}gateway: { listen: ▸"[::]:80" }\n`, "gateway.listen", "needs `keys`"],
    ["postgres", `${GOOD}ledger: { url: ▸postgres://db/x }\n`, "ledger.url", "does not implement PostgreSQL"],
    ["another database", `${GOOD}ledger: { url: ▸mysql://db/x }\n`, "ledger.url", "is not a ledger"],
    ["memory", `${GOOD}ledger: { url: ▸"sqlite::memory:" }\n`, "ledger.url", "is not a ledger"],
  ]);
});

describe("providers", () => {
  const url = (text: string): string => provider(`x: { kind: simulator, base_url: ▸"${text}" }`);
  testRefused(
    [
      ["no key", provider("▸x: { kind: openai }"), "providers.x", "`api_key: env:OPENAI_API_KEY`"],
      [
        "no key for a preset",
        provider("▸x: { kind: openai-compatible, preset: groq }"),
        "providers.x",
        "env:GROQ_API_KEY",
      ],
      [
        "vllm somewhere",
        provider("▸x: { kind: openai-compatible, preset: vllm }"),
        "providers.x",
        "`base_url` is missing",
      ],
      [
        "llama-cpp somewhere",
        provider("▸x: { kind: openai-compatible, preset: llama-cpp }"),
        "providers.x",
        "`base_url`",
      ],
      ["nowhere", provider("▸x: { kind: openai-compatible }"), "providers.x", "`preset` or `base_url` is missing"],
      [
        "a preset elsewhere",
        provider("x: { kind: simulator, preset: ▸groq }"),
        "providers.x.preset",
        "no meaning for kind",
      ],
      ["a version twice", url("http://127.0.0.1/v1/v1/"), "providers.x.base_url", "its version twice (`/v1/v1`)"],
      ["two versions", url("http://127.0.0.1/v1beta/v1"), "providers.x.base_url", "its version twice (`/v1beta/v1`)"],
      ["an endpoint", url("http://h/v1/chat/completions"), "providers.x.base_url", "leave out `/chat/completions`"],
      ["no scheme", url("api.example.com/v1"), "providers.x.base_url", "not an http or https URL"],
      ["one slash", url("https:/api.example.com/v1"), "providers.x.base_url", "not an http or https URL"],
      ["another scheme", url("ftp://api.example.com/v1"), "providers.x.base_url", "not an http or https URL"],
      ["a password", url("https://u:p@h/v1"), "providers.x.base_url", "holds a user or password"],
      ["a query", url("https://h/v1?a=b"), "providers.x.base_url", "holds a query"],
      [
        "this gateway itself",
        `gateway: { listen: "127.0.0.1:9000" }\n${provider('x: { kind: simulator, base_url: ▸"http://localhost:9000/v1" }')}`,
        "providers.x.base_url",
        "leads back to this gateway",
      ],
      [
        "a header of the body",
        provider('x: { kind: simulator, headers: { ▸Content-Length: "5" } }'),
        "providers.x.headers.Content-Length",
        "sets itself",
      ],
      [
        "a header twice",
        provider("x: { kind: simulator, headers: { X-A: a, ▸x-a: b } }"),
        "providers.x.headers.x-a",
        "twice",
      ],
      [
        "an odd header",
        provider("x: { kind: simulator, headers: { ▸X A: a } }"),
        'providers.x.headers["X A"]',
        "not the name",
      ],
      [
        "a line break in a header",
        provider("x: { kind: simulator, headers: { X-A: ▸env:BROKEN } }"),
        "providers.x.headers.X-A",
        "cannot stand in a header",
      ],
      [
        "a line break in a key",
        provider("x: { kind: simulator, api_key: ▸env:BROKEN }"),
        "providers.x.api_key",
        "cannot stand",
      ],
      [
        "the key in two places",
        provider("x: { kind: simulator, api_key: env:K, headers: ▸{ authorization: env:K } }"),
        "providers.x.headers",
        "`authorization` is set twice",
      ],
      [
        "a client's key sent on",
        provider("x: { kind: simulator, forward_headers: [X-A, ▸Authorization] }"),
        "providers.x.forward_headers[1]",
        "no provider may see",
      ],
      [
        "auth of nothing",
        provider("x: { kind: simulator, auth: ▸{ header: x-key } }"),
        "providers.x.auth",
        "there is none",
      ],
      [
        "no certificate",
        provider("x: { kind: simulator, tls: { ca: ▸/etc/ca.pem } }"),
        "providers.x.tls.ca",
        "not PEM text",
      ],
      [
        "half a certificate",
        provider('x: { kind: simulator, tls: ▸{ cert: "-----BEGIN CERTIFICATE-----" } }'),
        "providers.x.tls",
        "go together",
      ],
      [
        "a proxy",
        provider("x: { kind: simulator, proxy: ▸socks5://h:1 }"),
        "providers.x.proxy",
        "not an http or https URL",
      ],
    ],
    { variables },
  );
});

describe("deployments, prices, chains", () => {
  testRefused([
    [
      "an unknown provider",
      deployment("d: { provider: ▸smi, model: a }"),
      "deployments.d.provider",
      "did you mean `sim`?",
    ],
    [
      "a name that lies",
      `providers: { a: { kind: simulator }, b: { kind: simulator } }
deployments: { ▸a/m: { provider: b, model: m } }
routes: { default: { chain: [a/m] } }
`,
      'deployments["a/m"]',
      "reads as a model of provider `a`",
    ],
    [
      "two prices at once",
      price("[{ input: 1, output: 1 }, ▸{ input: 2, output: 2 }]"),
      "deployments.d.price[1]",
      "without `from`",
    ],
    [
      "two prices from one day",
      price("[{ input: 1, output: 1, from: 2026-01-01 }, { input: 2, output: 2, from: ▸2026-01-01 }]"),
      "deployments.d.price[1].from",
      "from the same day",
    ],
    [
      "two tiers at one edge",
      price("{ input: 1, output: 1, tiers: [{ above: 5, input: 2 }, { above: ▸5, input: 3 }] }"),
      "deployments.d.price.tiers[1].above",
      "a second tier above 5",
    ],
    [
      "a tier without effect",
      price("{ input: 1, output: 1, tiers: [▸{ above: 5 }] }"),
      "deployments.d.price.tiers[0]",
      "changes no price",
    ],
    [
      "an unknown deployment",
      `${SIM}deployments: { gpt-uae-ptu: { provider: sim, model: a } }
routes: { default: { chain: [gpt-uae-ptu, ▸gpt-uae] } }
`,
      "routes.default.chain[1]",
      "unknown deployment `gpt-uae`; did you mean `gpt-uae-ptu`?",
    ],
    [
      "an unknown one as a map",
      `${SIM}deployments: { gpt: { provider: sim, model: a } }
routes: { default: { chain: [gpt, { deployment: nope, ▸wieght: 1 }] } }
`,
      "routes.default.chain[1].wieght",
      "did you mean `weight`?",
    ],
    [
      "an unknown provider's model",
      routes("default: { chain: [▸smi/echo] }"),
      "routes.default.chain[0]",
      "did you mean `sim`?",
    ],
    ["no model", routes("default: { chain: [▸sim/] }"), "routes.default.chain[0]", "names no model"],
    ["a provider alone", routes("default: { chain: [▸sim] }"), "routes.default.chain[0]", "write `sim/MODEL`"],
    [
      "an alias in a chain",
      routes("default: { chain: [sim/a] }\n  fast: { chain: [▸default] }"),
      "routes.fast.chain[0]",
      "`default` is an alias",
    ],
    [
      "one twice",
      routes("default: { chain: [sim/a, ▸sim/a] }"),
      "routes.default.chain[1]",
      "stands in this chain twice",
    ],
    [
      "hop over total",
      routes("default: { chain: [sim/a], timeouts: { hop: ▸61s, total: 60s } }"),
      "routes.default.timeouts.hop",
      "`hop` is longer than `total`",
    ],
    [
      "total over all",
      routes("default: { chain: [sim/a], timeouts: { total: ▸11m } }"),
      "routes.default.timeouts.total",
      "longer than `stream_max`",
    ],
    [
      "base over cap",
      routes("default: { chain: [sim/a], retries: { base: ▸9s } }"),
      "routes.default.retries.base",
      "longer than `cap`",
    ],
    ["nothing to ask for", `▸${SIM}`, "routes", "there is nothing to ask for"],
    ["nobody to ask", "▸routes: { default: { chain: [a/b] } }\n", "providers", "`providers` is missing or empty"],
  ]);
});

describe("references", () => {
  testRefused(
    [
      [
        "not set",
        provider("x: { kind: openai, api_key: ▸env:MISSING }"),
        "providers.x.api_key",
        "`MISSING` is not set",
      ],
      [
        "misspelt",
        provider("x: { kind: openai, api_key: ▸env:BROKE }"),
        "providers.x.api_key",
        "did you mean `BROKEN`?",
      ],
      [
        "empty",
        provider("x: { kind: openai, api_key: ▸env:EMPTY }"),
        "providers.x.api_key",
        "`EMPTY` is set but empty",
      ],
      ["no name", provider('x: { kind: openai, api_key: ▸"env:A B" }'), "providers.x.api_key", "names no variable"],
      [
        "no file",
        provider("x: { kind: openai, api_key: ▸file:nope }"),
        "providers.x.api_key",
        "cannot be read (ENOENT)",
      ],
      ["a folder", provider("x: { kind: openai, api_key: ▸file:. }"), "providers.x.api_key", "is not a file"],
      [
        "vault",
        provider("x: { kind: openai, api_key: ▸vault:a/b#c }"),
        "providers.x.api_key",
        "no secret manager is asked here",
      ],
      [
        "aws-sm",
        provider("x: { kind: openai, api_key: ▸aws-sm:a#c }"),
        "providers.x.api_key",
        "no secret manager is asked here",
      ],
      [
        "inside a text",
        routes(`default: { chain: [▸"sim/\${MISSING}"] }`),
        "routes.default.chain[0]",
        "`MISSING` is not set",
      ],
      [
        "half a reference",
        routes(`default: { chain: [▸"sim/\${K"] }`),
        "routes.default.chain[0]",
        "is not a reference",
      ],
      [
        "a shell's default",
        routes(`default: { chain: [▸"sim/\${K:-x}"] }`),
        "routes.default.chain[0]",
        "is not a reference",
      ],
      ["of a key", keys("- { id: a, tenant: t, key: ▸env:MISSING }"), "keys[0].key", "does not resolve"],
      ["of the gateway", `${GOOD}gateway: { region: ▸env:MISSING }\n`, "gateway.region", "does not resolve"],
      [
        "of an admin key",
        `${GOOD}admin: { keys: [{ key: ▸env:MISSING, role: viewer }] }\n`,
        "admin.keys[0].key",
        "resolve",
      ],
    ],
    { variables: { ...variables, EMPTY: "" } },
  );
});
