import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Call } from "../../core/call.ts";
import { openaiImages } from "./index.ts";

const QUIRKS = { maxTokensField: null, streamOptions: true, reasoningInOutput: true } as const;
const decode = (body: unknown): Call =>
  openaiImages.decodeRequest({
    raw: Buffer.from(JSON.stringify(body)),
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { query: "" },
  });
const reply = (body: unknown) =>
  openaiImages.readReply(Buffer.from(JSON.stringify(body)), QUIRKS, 0, "application/json");
const USAGE = {
  input_tokens: 50,
  input_tokens_details: { image_tokens: 40, text_tokens: 10, cached_tokens: 5 },
  output_tokens: 60,
  total_tokens: 110,
};

describe("a request for a picture", () => {
  it("needs the capability, and names its user", () => {
    const call = decode({ model: "draw", prompt: "a cat", n: 2, size: "auto", user: "u1" });
    expect(call).toMatchObject({ alias: "draw", operation: "images", stream: false, platform: { user: "u1" } });
    expect([...call.needs]).toEqual(["images"]);
    expect(decode({ model: "draw", prompt: "a cat", stream: true, n: 2 })).toMatchObject({ stream: true, choices: 2 });
  });

  it.each<[string, unknown]>([
    ["model", { prompt: "a" }],
    ["prompt", { model: "m" }],
    ["prompt", { model: "m", prompt: "" }],
    ["prompt", { model: "m", prompt: ["a"] }],
    ["n", { model: "m", prompt: "a", n: "2" }],
    ["stream", { model: "m", prompt: "a", stream: "yes" }],
    ["partial_images", { model: "m", prompt: "a", partial_images: 1.5 }],
  ])("is refused at %s: %j", (param, body) => {
    expect(refusalOf(() => decode(body))).toMatchObject({ code: "invalid_request", param });
  });

  it("goes on byte for byte, less what is the gateway's", () => {
    const call = decode({ prompt: "a", gateway: { agent: "x" }, model: "draw", unknown: 1.0 });
    const target = { model: "gpt-image-1", quirks: QUIRKS, maxOutputTokens: null };
    expect(openaiImages.passRequest(call, target).toString()).toBe('{"prompt":"a","model":"gpt-image-1","unknown":1}');
  });
});

describe("pictures", () => {
  it("tell what they used, where they do", () => {
    expect(reply({ created: 1, data: [{ b64_json: "" }], usage: USAGE })).toMatchObject({
      usage: { input_tokens: 50, output_tokens: 60, cached_input_tokens: 5 },
    });
    expect(reply({ created: 1, data: [{ url: "https://a/b" }] })).toMatchObject({ usage: null });
    expect(reply({ created: 1 })).toMatchObject({ failure: { class: "invalid_response" } });
    expect(reply({ error: { code: "moderation_blocked" } })).toMatchObject({ failure: { class: "content_filtered" } });
  });

  it("come in parts, and each ends with what it used", () => {
    const reader = openaiImages.streamReader(QUIRKS);
    const read = (event: unknown) => reader.read(JSON.stringify(event), null).parts;
    expect(read({ type: "image_generation.partial_image", b64_json: "QQ==", output_format: "webp" })).toEqual([
      { type: "annotation", choice: 0, annotation: { type: "media", mediaType: "image/webp", data: "QQ==" } },
    ]);
    const done = { type: "image_generation.completed", b64_json: "QQ==", usage: USAGE };
    expect(read(done)[0]).toMatchObject({ type: "usage", usage: { input_tokens: 50, output_tokens: 60 } });
    expect(read(done)).toMatchObject([
      { type: "usage", usage: { input_tokens: 100, output_tokens: 120 } },
      { type: "finish", reason: "stop" },
    ]);
    expect(read({ type: "something.new" })).toEqual([]);
    expect(read({ type: "error", error: { message: "x", code: "rate_limit_exceeded" } })).toMatchObject([
      { type: "error", failure: { status: null } },
    ]);
    expect(reader.read("[DONE]", null)).toEqual({ parts: [], usageOnly: false, terminator: true });
    expect(() => reader.read("nonsense", null)).toThrow();
    expect(() => reader.read("[1]", null)).toThrow();
  });
});
