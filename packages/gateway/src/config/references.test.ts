import { describe, expect, test } from "vitest";
import { lines, loadText } from "./test/load-text.ts";

const TWO = `providers:
  a: { kind: openai, api_key: env:A_KEY }
  b: { kind: simulator }
deployments:
  da: { provider: a, model: gpt-4o-2024-11-20 }
routes:
  default: { chain: [da, b/echo] }
  only-a: { chain: [a/gpt-4o-2024-11-20] }
tenants:
  t: { models: { allow: [default, only-a] } }
`;

describe("where values come from", () => {
  test("every string may be a reference, and what it gives is not read again", async () => {
    const { snapshot, problems } = await loadText(
      `gateway: { listen: "127.0.0.1:\${PORT}", region: file:region.txt }
providers: { sim: { kind: simulator, headers: { x-a: "env:AGAIN", x-b: "a-$\${b}-\${AGAIN}" } } }
routes: { default: { chain: [env:MODEL] } }
`,
      {
        variables: { PORT: "9000", AGAIN: "env:PORT", MODEL: "sim/echo" },
        files: { "region.txt": "uae-north\r\n" },
      },
    );
    expect(problems).toEqual([]);
    expect(snapshot?.gateway).toMatchObject({ listen: { port: 9000 }, region: "uae-north" });
    expect(snapshot?.routes.get("default")?.chain).toEqual(["sim/echo"]);
    const headers = snapshot?.providers.get("sim")?.headers;
    expect(headers?.["x-a"]?.reveal()).toBe("env:PORT");
    // biome-ignore lint/suspicious/noTemplateCurlyInString: `$${b}` stands for this very text.
    expect(headers?.["x-b"]?.reveal()).toBe("a-${b}-env:PORT");
  });

  test("file: is relative to the config file, may hold a variable, and is watched", async () => {
    const loaded = await loadText(
      `providers: { x: { kind: openai, api_key: "file:\${DIR}/k" } }\nroutes: { d: { chain: [x/o1-2024-12-17] } }\n`,
      {
        variables: { DIR: "secrets" },
        files: { "secrets/k": "sk-1\n" },
      },
    );
    expect(loaded.snapshot?.providers.get("x")?.apiKey?.reveal()).toBe("sk-1");
    expect(loaded.source.watched.at(-1)).toMatch(/secrets\/k$/);
  });

  test("a value that came from a reference is never shown in a message", async () => {
    const loaded = await loadText(
      "gateway: { listen: env:L, drain_timeout: env:D }\nproviders: { sim: { kind: simulator } }\nroutes: { d: { chain: [sim/echo] } }\n",
      {
        variables: { L: "hidden-one", D: "hidden-two" },
      },
    );
    expect(lines(loaded)).toHaveLength(2);
    expect(lines(loaded).join()).not.toContain("hidden");
  });
});

describe("secrets", () => {
  test("a literal secret works and warns; no frame shows it", async () => {
    const loaded = await loadText(`providers:
  a: { kind: openai, api_key: sk-very-secret }
  b: { kind: simulator, headers: { x-auth-token: tok-secret, x-plain: shown } }
routes: { default: { chain: [a/gpt-4o-2024-11-20, b/echo] } }
admin: { keys: [ { key: root-secret-long-enough, role: admin } ] }
`);
    expect(lines(loaded)).toEqual([
      "2:31 warning providers.a.api_key: `api_key` is a literal secret; write env:NAME or file:PATH instead",
      "3:50 warning providers.b.headers.x-auth-token: `x-auth-token` is a literal secret; write env:NAME or file:PATH instead",
      "5:25 warning admin.keys[0].key: `key` is a literal secret; write its hash, or env:NAME or file:PATH instead",
    ]);
    expect(loaded.snapshot?.providers.get("a")?.apiKey?.reveal()).toBe("sk-very-secret");
    for (const line of [2, 3, 5]) expect(loaded.frame("sluicegate.yaml", line, 1)?.text).not.toContain("secret");
    expect(JSON.stringify([...(loaded.snapshot?.providers.values() ?? []), loaded.problems])).not.toContain("sk-very");
  });

  test("a secret that is missing and used refuses, naming it", async () => {
    expect(lines(await loadText(TWO))).toEqual([
      "2:31 error providers.a.api_key: the reference `env:A_KEY` does not resolve: `A_KEY` is not set",
    ]);
  });

  test("with allowMissingSecrets what used it is left out, aloud", async () => {
    const loaded = await loadText(TWO, { allowMissingSecrets: true });
    expect(lines(loaded)).toEqual([
      "2:3 warning providers.a: left out, because `env:A_KEY` does not resolve: `A_KEY` is not set",
      "5:3 warning deployments.da: left out, because its provider `a` was left out",
      "7:22 warning routes.default.chain[0]: `da` leaves the chain, because it was left out",
      "8:3 warning routes.only-a: left out, because no deployment of its chain is left",
      "8:21 warning routes.only-a.chain[0]: `a/gpt-4o-2024-11-20` leaves the chain, because it was left out",
    ]);
    expect([...(loaded.snapshot?.providers.keys() ?? [])]).toEqual(["b"]);
    expect(loaded.snapshot?.routes.get("default")?.chain).toEqual(["b/echo"]);
    expect(loaded.snapshot?.routes.has("only-a")).toBe(false);
    expect(loaded.snapshot?.tenants.get("t")?.models?.allow).toEqual(["default", "only-a"]);
  });

  test("what nothing uses is left out with a warning either way", async () => {
    const loaded = await loadText(`providers:
  a: { kind: openai, api_key: env:A_KEY }
  b: { kind: simulator }
routes: { default: { chain: [b/echo] } }
`);
    expect(lines(loaded)).toEqual([
      "2:3 warning providers.a: left out, because `env:A_KEY` does not resolve: `A_KEY` is not set, and nothing uses it",
    ]);
    expect([...(loaded.snapshot?.providers.keys() ?? [])]).toEqual(["b"]);
  });

  test("a permission for raw names is a use", async () => {
    const loaded = await loadText(`providers:
  a: { kind: openai, api_key: env:A_KEY }
  b: { kind: simulator }
routes: { default: { chain: [b/echo] } }
tenants: { t: { models: { allow: ["a/*"] } } }
`);
    expect(loaded.problems.map(({ severity, path }) => [severity, path])).toEqual([["error", "providers.a.api_key"]]);
  });

  test("settings, keys and tenants go the same way", async () => {
    const loaded = await loadText(
      `gateway: { region: env:MISSING, drain_timeout: 5s }
providers: { b: { kind: simulator } }
routes: { default: { chain: [b/echo] } }
tenants: { t: { models: "*" }, u: { models: "*", defaults: { classification: env:MISSING } } }
keys:
  - { id: one, tenant: t, key: env:MISSING }
  - { id: two, tenant: u, key: env:TWO }
  - { id: three, tenant: t, key: env:THREE }
admin: { keys: [ { role: viewer, key: env:MISSING }, { role: admin, key: env:TWO, tenant: t } ] }
`,
      { allowMissingSecrets: true, variables: { TWO: "second-key-0123456789", THREE: "third-key-0123456789" } },
    );
    // One secret for two doors is a fault of its own.
    expect(lines(loaded).filter((line) => line.includes(" error "))).toEqual([
      expect.stringContaining("the same key stands in"),
    ]);
    const fixed = await loadText(
      `gateway: { region: env:MISSING, drain_timeout: 5s }
providers: { b: { kind: simulator } }
routes: { default: { chain: [b/echo] } }
tenants: { t: { models: "*" }, u: { models: "*", defaults: { classification: env:MISSING } } }
keys:
  - { id: one, tenant: t, key: env:MISSING }
  - { id: two, tenant: u, key: env:TWO }
  - { id: three, tenant: t, key: env:THREE }
admin: { keys: [ { role: viewer, key: env:MISSING } ] }
`,
      { allowMissingSecrets: true, variables: { TWO: "second-key-0123456789", THREE: "third-key-0123456789" } },
    );
    expect(fixed.problems.map(({ severity, path }) => `${severity} ${path}`)).toEqual([
      "warning gateway.region",
      "warning tenants.u",
      "warning keys[0]",
      "warning keys[1]",
      "warning admin.keys[0].key",
    ]);
    expect(fixed.snapshot?.gateway).toMatchObject({ region: null, drainTimeoutMs: 5_000 });
    expect(fixed.snapshot?.keys.map(({ id }) => id)).toEqual(["three"]);
    expect(fixed.snapshot?.adminKeys).toEqual([]);
  });
});
