import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Call } from "../../core/call.ts";
import { openaiModerations } from "./index.ts";

const QUIRKS = { maxTokensField: null, streamOptions: true, reasoningInOutput: true } as const;
const TARGET = { model: "omni", quirks: QUIRKS, maxOutputTokens: null };
const decode = (body: unknown, alias?: string): Call =>
  openaiModerations.decodeRequest({
    raw: Buffer.from(JSON.stringify(body)),
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { query: "", ...(alias !== undefined && { alias }) },
  });
const reply = (body: unknown) =>
  openaiModerations.readReply(Buffer.from(JSON.stringify(body)), QUIRKS, 0, "application/json");

describe("a moderation request", () => {
  it.each<[unknown, number]>([
    ["eight...", 2],
    [["four", "four"], 2],
    [
      [
        { type: "text", text: "four" },
        { type: "image_url", image_url: { url: "https://a/b.png" } },
      ],
      1,
    ],
  ])("may hold %j", (input, tokens) => {
    const call = decode({ model: "mod", input });
    expect(call).toMatchObject({ alias: "mod", operation: "moderations", stream: false, inputTokensEstimate: tokens });
    expect([...call.needs]).toEqual([]);
  });

  it("without a model means the one OpenAI takes, unless the path says", () => {
    expect(decode({ input: "a" }).alias).toBe("omni-moderation-latest");
    expect(decode({ input: "a" }, "mine").alias).toBe("mine");
    expect(openaiModerations.passRequest(decode({ input: "a" }), TARGET).toString()).toBe(
      '{"input":"a","model":"omni"}',
    );
  });

  it.each<[string, unknown]>([
    ["input", { model: "m" }],
    ["input", { model: "m", input: 1 }],
    ["input", { model: "m", input: [] }],
    ["input[1]", { model: "m", input: ["a", 2] }],
    ["input[0]", { model: "m", input: [{ url: "x" }] }],
    ["model", { model: "", input: "a" }],
    ["gateway.x", { input: "a", gateway: { x: 1 } }],
  ])("is refused at %s: %j", (param, body) => {
    expect(refusalOf(() => decode(body))).toMatchObject({ code: "invalid_request", param });
  });
});

describe("a moderation answer", () => {
  it("tells its model, and usage where there is some", () => {
    expect(reply({ model: "omni-1", results: [{}] })).toMatchObject({ model: "omni-1", usage: null });
    const usage = { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 };
    expect(reply({ results: [], usage })).toMatchObject({ model: null, usage: { input_tokens: 7, output_tokens: 0 } });
  });

  it.each<[string, unknown]>([
    ["invalid_response", {}],
    ["invalid_response", []],
    ["rate_limited", { error: { code: 429, message: "slow" } }],
  ])("is %s for %j", (kind, body) => {
    expect(reply(body)).toMatchObject({ failure: { class: kind } });
  });
});
