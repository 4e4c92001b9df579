import { expect, test } from "vitest";
import { lines, loadText } from "./test/load-text.ts";

const variables = { K: "secret-key-0123456789" };

test.each([
  ["gpt-4o-2024-11-20", false],
  ["gpt-4o-mini-2024-07-18", false],
  ["text-embedding-3-small", false],
  ["ft:gpt-4o-2024-08-06:acme::abc", false],
  ["gpt-4o", true],
  ["gpt-4.1-mini", true],
  ["chatgpt-4o-latest", true],
])("a floating name of OpenAI warns: %s", async (model, floating) => {
  const loaded = await loadText(
    `providers: { o: { kind: openai, api_key: env:K } }\nroutes: { d: { chain: ["o/${model}"] } }\n`,
    { variables },
  );
  expect(loaded.snapshot).not.toBeNull();
  expect(lines(loaded)).toEqual(
    floating ? [expect.stringMatching(/^2:24 warning routes.d.chain\[0\]: .* is a floating model name/)] : [],
  );
});

test.each([
  ["groq", "llama-3.3-70b-versatile", false],
  ["deepseek", "deepseek-chat", true],
  ["openrouter", "openai/gpt-4o-latest", true],
  ["ollama", "mistral", false],
])("and of %s: %s", async (preset, model, floating) => {
  const loaded = await loadText(
    `providers: { p: { kind: openai-compatible, preset: ${preset}, api_key: env:K } }
deployments: { d: { provider: p, model: ${model} } }
routes: { a: { chain: [d] } }
`,
    { variables },
  );
  expect(lines(loaded).some((line) => line.includes("deployments.d.model: ") && line.includes("floating"))).toBe(
    floating,
  );
});

test("a price that nobody knows warns, but not on own hardware or the simulator", async () => {
  const text = `providers:
  o: { kind: openai, api_key: env:K }
  l: { kind: openai-compatible, preset: ollama }
  s: { kind: simulator }
deployments:
  later: { provider: o, model: gpt-4o-2024-11-20, price: { input: 1, output: 1, from: 2027-01-01 } }
routes: { d: { chain: [later, o/gpt-4o-2024-08-06, l/llama3.2, s/echo] } }
`;
  expect(lines(await loadText(text, { variables, bookPrice: () => [] }))).toEqual([
    expect.stringMatching(/^6:3 warning deployments.later: no price is known for `gpt-4o-2024-11-20` today/),
    expect.stringMatching(/^7:31 warning routes.d.chain\[1\]: no price is known for `gpt-4o-2024-08-06` today/),
  ]);
});

test("a price far off the book warns; a free one is meant", async () => {
  const price = (text: string) => `providers: { s: { kind: simulator } }
deployments: { d: { provider: s, model: m, price: ${text} } }
routes: { a: { chain: [d] } }
`;
  expect(lines(await loadText(price("{ input: 0.000003, output: 10 }")))).toEqual([
    "2:51 warning deployments.d.price: the input price is more than 5 × off the price book, which has 3 USD per million",
  ]);
  expect(lines(await loadText(price("{ input: 0, output: 50 }")))).toEqual([]);
  expect(lines(await loadText(price("{ input: 0, output: 50.01 }")))).toHaveLength(1);
});

test("what nothing leads to warns", async () => {
  const loaded =
    await loadText(`providers: { s: { kind: simulator }, idle: { kind: simulator }, raw: { kind: simulator } }
deployments:
  a: { provider: s, model: a }
  b: { provider: s, model: b }
  c: { provider: s, model: c }
routes: { d: { chain: [a] } }
tenants: { t: { models: { allow: [d, "deployment:b", "raw/*"] } } }
`);
  expect(lines(loaded)).toEqual([
    "1:38 warning providers.idle: nothing leads to provider `idle`",
    "5:3 warning deployments.c: nothing leads to deployment `c`: no chain holds it and no one may ask for it",
  ]);
});

test("keys that have expired, or can be guessed, warn", async () => {
  const loaded = await loadText(
    `providers: { s: { kind: simulator } }
routes: { d: { chain: [s/echo] } }
keys:
  - { id: old, hash: "sha256:${"0".repeat(64)}", expires: 2026-11-29 }
  - { id: weak, key: env:WEAK }
`,
    { variables: { WEAK: "abc" } },
  );
  expect(lines(loaded)).toEqual([
    expect.stringMatching(/^4:\d+ warning keys\[0\].expires: this key has expired/),
    "5:22 warning keys[1].key: this key is shorter than 16 characters and can be guessed",
  ]);
  expect(loaded.snapshot?.keys.map(({ id }) => id)).toEqual(["old", "weak"]);
});

test("more calls than a request may make, a key over plain http, and a URL without a path warn", async () => {
  const loaded = await loadText(
    `providers:
  p: { kind: openai-compatible, base_url: "http://llm.example", api_key: env:K }
routes: { d: { chain: [p/a, p/b, p/c, p/d, p/e], retries: { attempts: 3 } } }
`,
    { variables },
  );
  expect(lines(loaded)).toEqual([
    expect.stringMatching(/^2:43 warning providers.p.base_url: `base_url` has no path/),
    expect.stringMatching(/^2:43 warning providers.p.base_url: plain http carries the key/),
    "3:71 warning routes.d.retries.attempts: 5 deployments × 3 attempts are 15 calls; a request makes at most 12",
  ]);
});
