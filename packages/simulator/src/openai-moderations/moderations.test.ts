import OpenAI from "openai";
import { expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";

test("each input has thirteen categories, flagged by their words", async () => {
  const simulator = await simulate();
  const openai = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: "k", maxRetries: 0 });
  const two = await openai.moderations.create({ input: ["good day", "I will kill you"] });
  expect(two.model).toBe("omni-moderation-latest");
  expect(two.results.map((result) => [result.flagged, result.categories.violence])).toEqual([
    [false, false],
    [true, true],
  ]);
  const [first] = two.results;
  for (const member of [first?.categories, first?.category_scores, first?.category_applied_input_types]) {
    expect(Object.keys(member ?? {})).toHaveLength(13);
  }
  const parts = [
    { type: "text" as const, text: "look" },
    { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } },
  ];
  const one = await openai.moderations.create({ model: "echo", input: parts });
  expect(one.results[0]?.category_applied_input_types.sexual).toEqual(["text", "image"]);
  const [line] = simulator.invoice().lines;
  expect(line).toMatchObject({ dialect: "openai-moderations", model: "omni-moderation-latest", input_tokens: 0 });
});

test("what is no input is refused, and the models fail as elsewhere", async () => {
  const simulator = await simulate();
  const post = async (body: object): Promise<Loose> => {
    const response = await fetch(`${simulator.url}/v1/moderations`, { method: "POST", body: JSON.stringify(body) });
    return response.json();
  };
  expect((await post({})).error.code).toBe("missing_required_parameter");
  expect((await post({ input: [{ type: "sound" }] })).error.param).toBe("input[0]");
  expect((await post({ model: "quota", input: "x" })).error.code).toBe("insufficient_quota");
});
