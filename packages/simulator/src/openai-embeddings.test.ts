import { expect, test } from "vitest";
import { type Loose, simulate } from "../test/kit.ts";
import type { Simulator } from "./index.ts";

async function embed(simulator: Simulator, body: object): Promise<{ status: number; body: Loose }> {
  const init = { method: "POST", body: JSON.stringify({ model: "text-embedding-3-small", ...body }) };
  const response = await fetch(`${simulator.url}/v1/embeddings`, init);
  return { status: response.status, body: await response.json() };
}

function cosine(a: number[], b: number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
}

test("a text, texts, tokens and lists of tokens; the same gives the same", async () => {
  const simulator = await simulate();
  const one = (await embed(simulator, { input: "hello world" })).body;
  expect(one).toMatchObject({
    object: "list",
    model: "text-embedding-3-small",
    usage: { prompt_tokens: 3, total_tokens: 3 },
  });
  expect(one.data[0]).toMatchObject({ object: "embedding", index: 0 });
  expect(one.data[0].embedding).toHaveLength(1536);
  const two = (await embed(simulator, { input: ["hello world", "other"] })).body;
  expect(two.data.map((row: Loose) => row.index)).toEqual([0, 1]);
  expect(two.data[0].embedding).toEqual(one.data[0].embedding);
  expect((await embed(simulator, { input: [1, 2, 3] })).body.usage.prompt_tokens).toBe(3);
  expect((await embed(simulator, { input: [[1, 2], [3]] })).body.data).toHaveLength(2);
  expect(simulator.invoice().lines[0]).toMatchObject({
    path: "/v1/embeddings",
    input_tokens: 3,
    output_tokens: 0,
    reported: true,
    finished: true,
  });
});

test("base64 is little-endian float32 of the same vector, of unit length", async () => {
  const simulator = await simulate();
  const input = "the quick brown fox";
  const floats = (await embed(simulator, { input, dimensions: 16 })).body.data[0].embedding;
  const text = (await embed(simulator, { input, dimensions: 16, encoding_format: "base64" })).body.data[0].embedding;
  const bytes = Buffer.from(text, "base64");
  expect(floats.map((_: number, i: number) => bytes.readFloatLE(i * 4))).toEqual(floats);
  expect(cosine(floats, floats)).toBeCloseTo(1, 5);
});

test("shared words bring vectors closer", async () => {
  const simulator = await simulate();
  const input = ["how do I reset my password", "how do I change my password", "bananas are yellow"];
  const [a, b, c] = (await embed(simulator, { input })).body.data.map((row: Loose) => row.embedding);
  expect(cosine(a, b)).toBeGreaterThan(0.5);
  expect(cosine(a, c)).toBeLessThan(0.3);
});

test.for([
  [{}, "input"],
  [{ input: "" }, "input"],
  [{ input: [] }, "input"],
  [{ input: ["a", ""] }, "input[1]"],
  [{ input: [[]] }, "input"],
  [{ input: Array(2049).fill("a") }, "input"],
  [{ input: "x".repeat(40_000) }, "input"],
  [{ input: "a", encoding_format: "hex" }, "encoding_format"],
  [{ input: "a", dimensions: 0 }, "dimensions"],
] as const)("%o is a 400 at %s", async ([body, param]) => {
  const simulator = await simulate();
  const refused = await embed(simulator, body);
  expect(refused.status).toBe(400);
  expect(refused.body.error.param).toBe(param);
});

test("the options of a model name hold here too", async () => {
  const simulator = await simulate();
  expect((await embed(simulator, { model: "error?status=503", input: "a" })).status).toBe(503);
  expect((await embed(simulator, { model: "fixed?input=99", input: "a" })).body.usage.prompt_tokens).toBe(99);
  await expect(embed(simulator, { model: "cut", input: "a" })).rejects.toThrow();
});
