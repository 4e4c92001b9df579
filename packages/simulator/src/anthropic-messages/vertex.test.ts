import { describe, expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";

const PARENT = "/v1/projects/p/locations/us-east5/publishers/anthropic/models";
const BODY = {
  anthropic_version: "vertex-2023-10-16",
  max_tokens: 50,
  messages: [{ role: "user", content: "alpha beta" }],
};

function post(simulator: Simulator, path: string, body: object, headers: Record<string, string> = {}) {
  const init = { method: "POST", body: JSON.stringify(body), headers: { authorization: "Bearer t", ...headers } };
  return fetch(`${simulator.url}${PARENT}/${path}`, init);
}

describe("Claude on Vertex AI", () => {
  test("answers JSON and events, the path saying which", async () => {
    const simulator = await simulate();
    const whole = (await (await post(simulator, "echo:rawPredict", BODY)).json()) as Loose;
    expect(whole.content[0].text).toBe("alpha beta");
    const events = await (await post(simulator, "echo:streamRawPredict", { ...BODY, stream: true })).text();
    expect(events).toContain("event: message_stop");
    expect(simulator.invoice().lines.map(({ dialect }) => dialect)).toEqual(Array(2).fill("anthropic-messages"));
  });

  test("counts tokens behind a model of its own", async () => {
    const simulator = await simulate();
    const { max_tokens: _, ...body } = BODY;
    const counted = await post(simulator, "count-tokens:rawPredict", { ...body, model: "echo" });
    expect(((await counted.json()) as Loose).input_tokens).toBeGreaterThan(0);
  });

  test.each([
    ["no version", { anthropic_version: undefined }, {}, "anthropic_version: Field required"],
    ["a model in the body", { model: "echo" }, {}, "model: Extra inputs"],
    [
      "a beta that Vertex has not",
      {},
      { "anthropic-beta": "effort-2025-11-24" },
      "Unexpected value(s) `effort-2025-11-24`",
    ],
  ])("refuses %s", async (_, body, headers, words) => {
    const simulator = await simulate();
    const response = await post(simulator, "echo:rawPredict", { ...BODY, ...body }, headers);
    expect(response.status).toBe(400);
    expect(((await response.json()) as Loose).error.message).toContain(words);
  });

  test("wants a token", async () => {
    const simulator = await simulate();
    expect((await post(simulator, "echo:rawPredict", BODY, { authorization: "Bearer bad-key" })).status).toBe(401);
  });
});
