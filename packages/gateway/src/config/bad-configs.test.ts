import { expect, test } from "vitest";
import { loadText } from "./test/load-text.ts";

/** A bad config, where its fault must be found, at which key, and in which words. */
interface Case {
  name: string;
  text: string;
  at: string;
  path: string;
  says: string;
}

const SIM = "providers: { sim: { kind: simulator } }\n";
const OK = `${SIM}routes: { default: { chain: [sim/echo] } }\n`;
const HASH = `sha256:${"ab".repeat(32)}`;

/** A provider `x` on line 2, and a route that leads to it. */
const provider = (text: string): string => `providers:\n  x: ${text}\nroutes: { default: { chain: [x/model-1] } }\n`;
/** A deployment `d` on line 3. */
const deployment = (text: string): string => `${SIM}deployments:\n  d: ${text}\nroutes: { default: { chain: [d] } }\n`;
const price = (text: string): string => deployment(`{ provider: sim, model: echo, price: ${text} }`);
/** A route `default` on line 3. */
const route = (text: string): string => `${SIM}routes:\n  default: ${text}\n`;
/** A tenant `t` on line 4. */
const tenant = (text: string): string => `${OK}tenants:\n  t: ${text}\n`;
/** A key on line 5. */
const key = (text: string): string => `${OK}tenants: { t: { models: "*", teams: { payments: {} } } }\nkeys:\n  - ${text}\n`;
/** `gateway` or `ledger` on line 3. */
const section = (text: string): string => `${OK}${text}\n`;

const at = (place: string, path: string, says: string) => ({ at: place, path, says });

const CASES: Case[] = [
  // The file itself.
  { name: "a tab as indent", text: "providers:\n\tsim: {}\n", ...at("2:1", "", "a tab stands where YAML wants spaces") },
  { name: "two documents", text: `${OK}---\na: 1\n`, ...at("3:1", "", "a second document begins here") },
  { name: "a list", text: "- a\n- b\n", ...at("1:1", "", "is not a map") },
  { name: "a text", text: "hello\n", ...at("1:1", "", "is not a map") },
  { name: "a byte order mark", text: `\uFEFF${OK}`, ...at("1:1", "", "byte order mark") },
  { name: "not UTF-8", text: `${OK}# \uFFFD\n`, ...at("3:3", "", "is not UTF-8") },
  { name: "an open bracket", text: "providers: { sim: { kind: simulator }\n", ...at("2:1", "", "bracket above is not closed") },
  { name: "an open quote", text: 'routes: "abc\n', ...at("2:1", "", "missing closing") },
  { name: "a wrong indent", text: "providers:\n  a: 1\n b: 2\n", ...at("3:2", "", "not valid YAML") },
  { name: "a colon in a text", text: "gateway: { region: x }\nledger: a: b\n", ...at("2:9", "", "a key cannot stand here") },
  { name: "a duplicate key", text: `${OK}routes: {}\n`, ...at("3:1", "routes", "duplicate key `routes`; it stands on line 2") },
  {
    name: "a duplicate key deep down",
    text: route("{ chain: [sim/echo], fallback: true, fallback: false }"),
    ...at("3:48", "routes.default.fallback", "duplicate key"),
  },
  { name: "a key without a name", text: `${OK}? \n: 1\n`, ...at("3:2", "", "a key must be a text") },
  { name: "a key that is a list", text: `${OK}[a, b]: 1\n`, ...at("3:1", "", "a key must be a text") },
  { name: "__proto__", text: `${OK}__proto__: { a: 1 }\n`, ...at("3:1", "", "`__proto__` cannot be used") },
  {
    name: "__proto__ in a map of names",
    text: "providers:\n  __proto__: { kind: simulator }\n",
    ...at("2:3", "providers", "`__proto__` cannot be used"),
  },
  { name: "constructor as a key", text: `${OK}constructor: 1\n`, ...at("3:1", "constructor", "unknown key `constructor`") },
  { name: "a merge key", text: `${OK}<<: { a: 1 }\n`, ...at("3:1", "", "merge keys") },
  { name: "an alias to nothing", text: "providers: *x\n", ...at("1:12", "providers", "names no anchor `&x`") },
  { name: "an alias to itself", text: "providers: &x { a: *x }\n", ...at("1:20", "providers.a", "holds itself") },
  { name: "a tag", text: "providers: !secret x\n", ...at("1:12", "", "tags have no meaning") },
  { name: "YAML 1.1", text: `%YAML 1.1\n---\n${OK}`, ...at("1:1", "", "only YAML 1.2") },
  { name: "too deep", text: `providers: ${"[".repeat(80)}${"]".repeat(80)}\n`, ...at("1:1", "", "nested deeper than 64") },
  { name: "a bomb of aliases", text: bomb(), ...at("1:1", "", "holds over 100000 values") },
  { name: "an empty value", text: `${OK}gateway:\n`, ...at("3:1", "gateway", "`gateway` has no value") },
  { name: "null", text: section("gateway: { region: null }"), ...at("3:12", "gateway.region", "`region` has no value") },
  { name: "null in a list", text: route("{ chain: [sim/echo, ~] }"), ...at("3:32", "routes.default.chain[1]", "no value") },
  { name: "nothing at all", text: "", ...at("1:1", "providers", "`providers` is missing") },

  // Keys.
  { name: "an unknown section", text: `${OK}router: {}\n`, ...at("3:1", "router", "unknown key `router`; did you mean `routes`?") },
  { name: "an unimplemented section", text: `${OK}guardrails: {}\n`, ...at("3:1", "guardrails", "does not implement `guardrails`") },
  { name: "a misspelt unimplemented one", text: `${OK}gaurdrails: {}\n`, ...at("3:1", "gaurdrails", "did you mean `guardrails`?") },
  { name: "chian", text: route("{ chian: [sim/echo] }"), ...at("3:14", "routes.default.chian", "did you mean `chain`?") },
  { name: "a key like no other", text: section("gateway: { zzz: 1 }"), ...at("3:12", "gateway.zzz", "known are `listen`, `region`") },
  { name: "canary", text: route("{ chain: [sim/echo], canary: {} }"), ...at("3:34", "routes.default.canary", "does not implement `canary`") },
  {
    name: "a weight in a chain",
    text: route("{ chain: [{ deployment: sim/echo, weight: 0.5 }] }"),
    ...at("3:47", "routes.default.chain[0].weight", "does not implement `weight`"),
  },
  { name: "limits of a team", text: tenant("{ teams: { a: { limits: {} } } }"), ...at("4:21", "tenants.t.teams.a.limits", "does not implement") },
  { name: "admin.oidc", text: section("admin: { oidc: {} }"), ...at("3:10", "admin.oidc", "does not implement `oidc`") },
  {
    name: "unknown in a tier",
    text: price("{ input: 1, output: 1, tiers: [{ above: 1, inptu: 2 }] }"),
    ...at("3:82", "deployments.d.price.tiers[0].inptu", "did you mean `input`?"),
  },
  { name: "a name with a space", text: `providers:\n  a b: { kind: simulator }\n`, ...at("2:3", 'providers["a b"]', "cannot be a name") },
  { name: "a provider's name with a slash", text: `providers:\n  a/b: { kind: simulator }\n`, ...at("2:3", 'providers["a/b"]', "cannot be a name") },
  { name: "a reserved alias", text: `${OK.replace("default", '"deployment:x"')}`, ...at("2:11", 'routes["deployment:x"]', "cannot be a name") },
  { name: "a long name", text: `providers:\n  ${"a".repeat(129)}: { kind: simulator }\n`, ...at("2:3", `providers.${"a".repeat(129)}`, "longer than 128") },

  // Shapes, units, closed sets.
  { name: "a number for a map", text: "providers:\n  x: 3\n", ...at("2:6", "providers.x", "`3` is a number; a map is wanted") },
  { name: "a list for a map", text: "providers:\n  - sim\n", ...at("2:3", "providers", "is not a map of names") },
  { name: "a map for a list", text: section("keys: { a: 1 }"), ...at("3:7", "keys", "is not a list") },
  { name: "a number for a text", text: deployment("{ provider: sim, model: 5 }"), ...at("3:30", "deployments.d.model", "is not a text") },
  { name: "a text for a boolean", text: route('{ chain: [sim/echo], fallback: "no" }'), ...at("3:44", "routes.default.fallback", "`no` is not true or false") },
  { name: "yes is no boolean in YAML 1.2", text: route("{ chain: [sim/echo], fallback: yes }"), ...at("3:44", "routes.default.fallback", "`yes` is not true or false") },
  { name: "a duration without a unit", text: section("gateway: { drain_timeout: 30 }"), ...at("3:27", "gateway.drain_timeout", "one of ms, s, m, h, d") },
  { name: "a duration with a bad unit", text: section("gateway: { drain_timeout: 5 min }"), ...at("3:27", "gateway.drain_timeout", "`5 min` is not a duration") },
  { name: "a duration of nothing", text: route("{ chain: [sim/echo], timeouts: { hop: 0s } }"), ...at("3:51", "routes.default.timeouts.hop", "must be more than 0") },
  { name: "a duration beyond timers", text: route("{ chain: [sim/echo], timeouts: { hop: 30d } }"), ...at("3:51", "routes.default.timeouts.hop", "longer than 24d") },
  { name: "a size with a bad unit", text: section("gateway: { body_limit: 32MB }"), ...at("3:24", "gateway.body_limit", "one of B, KiB, MiB, GiB, TiB") },
  { name: "a size of nothing", text: section("gateway: { body_limit: 0B }"), ...at("3:24", "gateway.body_limit", "more than 0") },
  { name: "an unimplemented kind", text: provider("{ kind: anthropic }"), ...at("2:14", "providers.x.kind", "`anthropic` is not implemented by this build") },
  { name: "a misspelt kind", text: provider("{ kind: openai-compatble }"), ...at("2:14", "providers.x.kind", "did you mean `openai-compatible`?") },
  { name: "a misspelt preset", text: provider("{ kind: openai-compatible, preset: olama }"), ...at("2:41", "providers.x.preset", "did you mean `ollama`?") },
  { name: "a value of no set", text: section("gateway: { expose: some }"), ...at("3:20", "gateway.expose", "it is one of `full`, `minimal`") },
  { name: "an unimplemented requirement", text: tenant("{ require: [residency] }"), ...at("4:18", "tenants.t.require[0]", "not implemented") },
  { name: "keepalive", text: route("{ chain: [sim/echo], keepalive: of }"), ...at("3:45", "routes.default.keepalive", "`of` is not a duration") },
  { name: "a share over 1", text: route("{ chain: [sim/echo], retries: { budget: 20 } }"), ...at("3:53", "routes.default.retries.budget", "between 0 and 1") },
  { name: "half an attempt", text: route("{ chain: [sim/echo], retries: { attempts: 1.5 } }"), ...at("3:55", "routes.default.retries.attempts", "whole number") },
  { name: "too many attempts", text: route("{ chain: [sim/echo], retries: { attempts: 13 } }"), ...at("3:55", "routes.default.retries.attempts", "at most 12") },
  { name: "no connections", text: provider("{ kind: simulator, pool: { connections: 0 } }"), ...at("2:46", "providers.x.pool.connections", "at least 1") },

  // Gateway and ledger.
  { name: "a port for an address", text: section("gateway: { listen: 8080 }"), ...at("3:20", "gateway.listen", "is not host:port") },
  { name: "a port that is none", text: section("gateway: { listen: 127.0.0.1:99999 }"), ...at("3:20", "gateway.listen", "is not host:port") },
  { name: "all interfaces without keys", text: section("gateway: { listen: 0.0.0.0:80 }"), ...at("3:20", "gateway.listen", "needs `keys`") },
  { name: "postgres", text: section("ledger: { url: postgres://db/x }"), ...at("3:16", "ledger.url", "does not implement PostgreSQL") },
  { name: "a ledger that is none", text: section("ledger: { url: mysql://db/x }"), ...at("3:16", "ledger.url", "is not a ledger") },
  { name: "a ledger in memory", text: section("ledger: { url: 'sqlite::memory:' }"), ...at("3:16", "ledger.url", "is not a ledger") },

  // Providers.
  { name: "a vendor without a key", text: provider("{ kind: openai }"), ...at("2:3", "providers.x", "`api_key: env:OPENAI_API_KEY`") },
  { name: "a preset without its key", text: provider("{ kind: openai-compatible, preset: groq }"), ...at("2:3", "providers.x", "`api_key: env:GROQ_API_KEY`") },
  { name: "vllm without a place", text: provider("{ kind: openai-compatible, preset: vllm }"), ...at("2:3", "providers.x", "`base_url` is missing") },
  { name: "neither preset nor place", text: provider("{ kind: openai-compatible }"), ...at("2:3", "providers.x", "`preset` or `base_url` is missing") },
  { name: "a preset on another kind", text: provider("{ kind: simulator, preset: groq }"), ...at("2:33", "providers.x.preset", "no meaning for kind simulator") },
  { name: "perplexity", text: provider("{ kind: openai-compatible, preset: perplexity, api_key: env:K }"), ...at("2:41", "providers.x.preset", "only the Responses API") },
  { name: "a doubled version", text: provider("{ kind: simulator, base_url: 'http://127.0.0.1/v1/v1/' }"), ...at("2:35", "providers.x.base_url", "its version twice (`/v1/v1`)") },
  { name: "an endpoint", text: provider("{ kind: simulator, base_url: 'http://127.0.0.1/v1/chat/completions' }"), ...at("2:35", "providers.x.base_url", "leave out `/chat/completions`") },
  { name: "no scheme", text: provider("{ kind: simulator, base_url: api.example.com/v1 }"), ...at("2:35", "providers.x.base_url", "not an http or https URL") },
  { name: "one slash", text: provider("{ kind: simulator, base_url: 'https:/api.example.com/v1' }"), ...at("2:35", "providers.x.base_url", "not an http or https URL") },
  { name: "a password in the URL", text: provider("{ kind: simulator, base_url: 'https://u:p@h/v1' }"), ...at("2:35", "providers.x.base_url", "holds a user or password") },
  { name: "a query in the URL", text: provider("{ kind: simulator, base_url: 'https://h/v1?a=b' }"), ...at("2:35", "providers.x.base_url", "holds a query") },
  {
    name: "a provider that is this gateway",
    text: `gateway: { listen: "127.0.0.1:9000" }\n${provider("{ kind: openai-compatible, base_url: 'http://localhost:9000/v1' }").replace(/^/, "")}`,
    ...at("3:43", "providers.x.base_url", "leads back to this gateway"),
  },
  { name: "a header of the connection", text: provider("{ kind: simulator, headers: { Content-Length: '5' } }"), ...at("2:51", "providers.x.headers.Content-Length", "sets itself") },
  { name: "a header twice", text: provider("{ kind: simulator, headers: { X-A: '1', x-a: '2' } }"), ...at("2:50", "providers.x.headers.x-a", "stands here twice") },
  { name: "the key twice", text: provider("{ kind: simulator, api_key: env:K, headers: { authorization: env:K } }"), ...at("2:50", "providers.x.headers", "is set twice") },
  { name: "a header with a space", text: provider("{ kind: simulator, headers: { 'X A': '1' } }"), ...at("2:42", 'providers.x.headers["X A"]', "not the name of a header") },
  { name: "a line break in a header", text: provider('{ kind: simulator, headers: { X-A: "1\\n2" } }'), ...at("2:40", "providers.x.headers.X-A", "cannot stand in a header") },
  { name: "a forwarded credential", text: provider("{ kind: simulator, forward_headers: [X-A, Authorization] }"), ...at("2:47", "providers.x.forward_headers[1]", "no provider may see") },
  { name: "auth without a key", text: provider("{ kind: simulator, auth: { header: x-key } }"), ...at("2:31", "providers.x.auth", "there is none") },
  { name: "a certificate that is none", text: provider("{ kind: simulator, tls: { ca: /etc/ca.pem } }"), ...at("2:36", "providers.x.tls.ca", "not PEM text") },
  { name: "half a client certificate", text: provider("{ kind: simulator, tls: { cert: '-----BEGIN CERTIFICATE-----' } }"), ...at("2:30", "providers.x.tls", "go together") },
  { name: "a proxy that is none", text: provider("{ kind: simulator, proxy: 'socks5://h:1' }"), ...at("2:32", "providers.x.proxy", "not an http or https URL") },
];

function bomb(): string {
  const levels = ["a: &a [x, x, x, x, x, x, x, x, x, x]"];
  for (const [name, below] of ["ba", "cb", "dc", "ed", "fe", "gf"]) {
    levels.push(`${name}: &${name} [${Array(10).fill(`*${below}`).join(", ")}]`);
  }
  return `${levels.join("\n")}\n`;
}

test.each(CASES)("$name", async ({ text, at: place, path, says }) => {
  const { snapshot, problems } = await loadText(text, { variables: { K: "secret" } });
  expect(snapshot).toBeNull();
  const told = problems.map((problem) => ({ ...problem, place: `${problem.line}:${problem.column}` }));
  const hit = told.find((problem) => problem.message.includes(says) && problem.severity === "error");
  expect(hit, `nothing says «${says}» in ${JSON.stringify(told, null, 1)}`).toBeDefined();
  expect({ place: hit?.place, path: hit?.path, file: hit?.file }).toEqual({ place, path, file: "sluicegate.yaml" });
});
