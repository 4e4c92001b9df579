import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Call } from "../../core/call.ts";
import { openaiSpeech } from "./index.ts";

const QUIRKS = { maxTokensField: null, streamOptions: true, reasoningInOutput: true } as const;
const decode = (body: unknown): Call =>
  openaiSpeech.decodeRequest({
    raw: Buffer.from(JSON.stringify(body)),
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { query: "" },
  });
const reply = (body: string | Buffer, type: string) => openaiSpeech.readReply(Buffer.from(body), QUIRKS, 0, type);

describe("a request for speech", () => {
  it("needs the capability, and streams when events are asked for", () => {
    const call = decode({ model: "voice", input: "hello", voice: "alloy" });
    expect(call).toMatchObject({ alias: "voice", operation: "speech", stream: false });
    expect([...call.needs]).toEqual(["speech"]);
    expect(decode({ model: "voice", input: "hello", voice: { id: "v" }, stream_format: "sse" }).stream).toBe(true);
    expect(decode({ model: "voice", input: "hello", stream_format: "audio" }).stream).toBe(false);
  });

  it.each<[string, unknown]>([
    ["model", { input: "a" }],
    ["input", { model: "m" }],
    ["input", { model: "m", input: "" }],
    ["input", { model: "m", input: ["a"] }],
    ["stream_format", { model: "m", input: "a", stream_format: "ogg" }],
    ["speed", { model: "m", input: "a", speed: "fast" }],
  ])("is refused at %s: %j", (param, body) => {
    expect(refusalOf(() => decode(body))).toMatchObject({ code: "invalid_request", param });
  });
});

describe("speech", () => {
  it.each(["audio/mpeg", "audio/pcm", "application/octet-stream", "binary/octet-stream"])(
    "is %s, whatever it holds",
    (type) => {
      for (const body of [Buffer.from([0, 255, 1]), "{}"]) {
        expect(reply(body, type)).toEqual({ model: null, usage: null, finishReason: "stop", outputChars: 0 });
      }
    },
  );

  it.each([
    ["", "audio/mpeg", "invalid_response"],
    ["<html>", "text/html; charset=utf-8", "invalid_response"],
    ['{"audio":"QQ=="}', "application/json", "invalid_response"],
    ['{"error":{"message":"slow","code":429}}', "application/json; charset=utf-8", "rate_limited"],
  ])("is not %j as %s", (body, type, kind) => {
    expect(reply(body, type)).toMatchObject({ failure: { class: kind } });
  });

  it("is never decorated", () => {
    expect(openaiSpeech.decorateReply('{"looks":"like JSON"}', '{"request_id":"r"}')).toBeNull();
  });

  it("comes as events, too", () => {
    const reader = openaiSpeech.streamReader(QUIRKS);
    const read = (event: unknown) => reader.read(JSON.stringify(event), null).parts;
    expect(read({ type: "speech.audio.delta", audio: "QQ==" })).toMatchObject([
      { type: "annotation", annotation: { data: "QQ==" } },
    ]);
    expect(
      read({ type: "speech.audio.done", usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12 } }),
    ).toMatchObject([{ type: "usage", usage: { input_tokens: 3, output_tokens: 9 } }, { type: "finish" }]);
  });
});
