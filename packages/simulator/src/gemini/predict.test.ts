import { expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";

const PATH = "/v1/projects/p/locations/global/publishers/google/models/text-embedding-005:predict";

test("Vertex AI embeds instances, and counts each", async () => {
  const simulator = await simulate();
  const ask = async (body: object): Promise<Loose> => {
    const headers = { authorization: "Bearer t" };
    return (await fetch(simulator.url + PATH, { method: "POST", body: JSON.stringify(body), headers })).json();
  };
  const instances = [{ content: "alpha beta" }, { content: "gamma", task_type: "RETRIEVAL_DOCUMENT", title: "T" }];
  const { predictions } = await ask({ instances, parameters: { outputDimensionality: 8 } });
  expect(predictions.map((one: Loose) => one.embeddings.values.length)).toEqual([8, 8]);
  expect(predictions[0].embeddings.statistics).toEqual({ token_count: 3, truncated: false });
  expect(simulator.invoice().total).toMatchObject({ input_tokens: 5, output_tokens: 0 });
  expect((await ask({ instances: [{ content: "a", title: "T" }] })).error.status).toBe("INVALID_ARGUMENT");
  expect((await ask({ instances: [] })).error.code).toBe(400);
});
