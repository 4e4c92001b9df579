import { describe, expect, it } from "vitest";
import { readTraffic, trafficDir } from "../../../test/support/replay-server.ts";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Call } from "../../core/call.ts";
import { formField, formOf } from "../multipart.ts";
import { openaiTranscription } from "./index.ts";

const QUIRKS = { maxTokensField: null, streamOptions: true, reasoningInOutput: true } as const;
const TARGET = { model: "whisper-1", quirks: QUIRKS, maxOutputTokens: null };
const TYPE = 'multipart/form-data; boundary="b"';
const FILE: Field = ["file", "\x00\xff\r\n", "a.wav"];

type Field = [name: string, value: string, filename?: string];

function write(fields: Field[]): Buffer {
  const parts = fields.map(
    ([name, value, filename]) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? "" : `; filename="${filename}"`}\r\n\r\n${value}\r\n`,
  );
  return Buffer.from(`${parts.join("")}--b--\r\n`, "latin1");
}

const decode = (fields: Field[], headers: Record<string, string> = {}, alias?: string): Call =>
  openaiTranscription.decodeRequest({
    raw: write(fields),
    header: (name) => ({ "content-type": TYPE, ...headers })[name],
    path: { query: "", ...(alias !== undefined && { alias }) },
  });
const pass = (call: Call): Buffer => openaiTranscription.passRequest(call, TARGET);

describe("a request for a transcript", () => {
  it("names its alias, its stream and its capability", () => {
    const call = decode([FILE, ["model", "hear"], ["stream", "True"]]);
    expect(call).toMatchObject({ alias: "hear", operation: "transcription", stream: true });
    expect([...call.needs]).toEqual(["transcription"]);
    expect(decode([["model", "hear"], FILE]).stream).toBe(false);
    expect(openaiTranscription.contentType?.(call)).toBe("multipart/form-data; boundary=b");
  });

  it("goes on byte for byte with the model in the alias's place, as often as it is asked for", () => {
    const fields: Field[] = [
      FILE,
      ["model", "hear"],
      ["timestamp_granularities[]", "word"],
      ["timestamp_granularities[]", "segment"],
    ];
    const call = decode(fields);
    const wanted = write(
      fields.map(([name, value, file]) => [name, name === "model" ? "whisper-1" : value, file] as Field),
    );
    expect(pass(call)).toEqual(wanted);
    expect(pass(call)).toEqual(wanted);
  });

  it("gets its model where only the path names it", () => {
    const call = decode([FILE], {}, "hear");
    expect(call.alias).toBe("hear");
    const form = formOf(pass(call), TYPE);
    expect(formField(pass(call), form, "model", 100)).toBe("whisper-1");
    expect(form.parts.map(({ name }) => name)).toEqual(["model", "file"]);
  });

  it("has platform fields in headers and in a field of JSON, which stays here", () => {
    const call = decode([["gateway", '{"agent":"a1","tags":{"x":"y"}}'], FILE, ["model", "hear"]], {
      "x-sluicegate-application": "app",
    });
    expect(call.platform).toEqual({ agent: "a1", application: "app", tags: { x: "y" } });
    expect(pass(call)).toEqual(write([FILE, ["model", "whisper-1"]]));
  });

  it.each<[string, Field[]]>([
    ["model", [FILE]],
    ["model", [FILE, ["model", ""]]],
    ["model", [FILE, ["model", "a"], ["model", "b"]]],
    ["model", [FILE, ["model", "a", "model.txt"]]],
    ["model", [FILE, ["model", "a\nb"]]],
    ["file", [["model", "a"]]],
    ["file", [["model", "a"], FILE, FILE]],
    [
      "file",
      [
        ["model", "a"],
        ["file", "text"],
      ],
    ],
    [
      "file",
      [
        ["model", "a"],
        ["file", "", "a.wav"],
      ],
    ],
    ["stream", [FILE, ["model", "a"], ["stream", "maybe"]]],
    ["gateway", [FILE, ["model", "a"], ["gateway", "{"]]],
    ["gateway", [FILE, ["model", "a"], ["gateway", "[]"]]],
    ["gateway.tenant", [FILE, ["model", "a"], ["gateway", '{"tenant":"x"}']]],
  ])("is refused at %s: %j", (param, fields) => {
    expect(refusalOf(() => decode(fields))).toMatchObject({ code: "invalid_request", param });
  });

  it("over 25 MB is too large, and says so; one of 25 MB is not", () => {
    const bytes = 25 * 1024 * 1024;
    expect(
      decode([
        ["file", "x".repeat(bytes), "a.wav"],
        ["model", "a"],
      ]).alias,
    ).toBe("a");
    const refusal = refusalOf(() =>
      decode([
        ["file", "x".repeat(bytes + 1), "a.wav"],
        ["model", "a"],
      ]),
    );
    expect(refusal).toMatchObject({ code: "request_too_large", param: "file" });
    expect(refusal.message).toContain("25 MB");
  });
});

describe("a transcript", () => {
  const read = (body: string | Buffer, type: string) =>
    openaiTranscription.readReply(Buffer.from(body), QUIRKS, 0, type);

  it.each<[string, string, unknown]>([
    ['{"text":"hi","usage":{"type":"duration","seconds":7}}', "application/json", { usage: null, outputChars: 2 }],
    [
      '{"text":"hi","usage":{"type":"tokens","input_tokens":14,"input_token_details":{"audio_tokens":14},"output_tokens":5}}',
      "application/json; charset=utf-8",
      { usage: { input_tokens: 14, output_tokens: 5 } },
    ],
    [
      '{"model":"voxtral","text":"","usage":{"prompt_tokens":4,"completion_tokens":2}}',
      "application/json",
      { model: "voxtral", usage: { input_tokens: 4 } },
    ],
    ['"said"', "application/json", { usage: null, outputChars: 4 }],
    ["said\n", "text/plain; charset=utf-8", { usage: null }],
    ["", "text/plain", { usage: null }],
    ["WEBVTT\n\n", "text/vtt", { usage: null }],
    ["1\n00:00:00,000 --> 00:00:01,000\nhi\n", "application/x-subrip", { usage: null }],
    ["{ braces }", "text/plain", { usage: null }],
  ])("is %s as %s", (body, type, facts) => {
    expect(read(body, type)).toMatchObject({ finishReason: "stop", ...(facts as object) });
  });

  it.each([
    ["{}", "application/json", "invalid_response"],
    ["[]", "application/json", "invalid_response"],
    ["nonsense", "application/json", "invalid_response"],
    ["<html>", "text/html", "invalid_response"],
    ["\xff\xfe", "text/plain", "invalid_response"],
    ['{"error":{"message":"slow","code":429}}', "text/plain", "rate_limited"],
  ])("is not %j as %s", (body, type, kind) => {
    expect(read(Buffer.from(body, "latin1"), type)).toMatchObject({ failure: { class: kind } });
  });

  it("is decorated only where it is JSON", () => {
    const text = "1\n00:00:00,000 --> 00:00:01,000\n{hi}\n";
    expect(openaiTranscription.decorateReply(text, '{"request_id":"r"}')).toBeNull();
    const json = openaiTranscription.decorateReply('{"text":"hi"}', '{"request_id":"r"}');
    expect(json).toBe('{"text":"hi","gateway_metadata":{"request_id":"r"}}');
  });

  it("comes as events, too", () => {
    const reader = openaiTranscription.streamReader(QUIRKS);
    const parts = (event: unknown) => reader.read(JSON.stringify(event), null).parts;
    expect(parts({ type: "transcript.text.delta", delta: "hel" })).toEqual([{ type: "text", choice: 0, text: "hel" }]);
    expect(parts({ type: "transcript.text.segment", text: "hello" })).toEqual([{ type: "text", choice: 0, text: "" }]);
    const usage = { type: "tokens", input_tokens: 14, output_tokens: 5, total_tokens: 19 };
    expect(parts({ type: "transcript.text.done", text: "hello", usage })).toMatchObject([
      { type: "usage", usage: { input_tokens: 14, output_tokens: 5 } },
      { type: "finish" },
    ]);
    expect(parts({ type: "transcript.text.done", text: "hello" })).toMatchObject([{ type: "finish" }]);
  });
});

const dir = trafficDir();
const FILES = ["openai-audio-transcriptions", "groq-audio-transcriptions", "mistral-audio-transcriptions"];

describe.skipIf(dir === null)("recorded transcripts (the traffic folder)", () => {
  it("are read, each with the tokens it reports", () => {
    const read = FILES.flatMap((file) => readTraffic(dir ?? "", file)).flatMap((record) => {
      const recorded = record.response.body as { body?: unknown; headers?: Record<string, string> };
      // One recording keeps the answer and its headers inside another.
      const nested = typeof recorded.body === "string" && recorded.headers;
      const body = nested ? String(recorded.body) : JSON.stringify(recorded);
      const type = nested ? (nested["content-type"] ?? "") : "application/json";
      const facts = openaiTranscription.readReply(Buffer.from(body), QUIRKS, 0, type);
      expect(facts, record.id).not.toHaveProperty("failure");
      const { usage } = (nested ? {} : recorded) as { usage?: Record<string, unknown> };
      const input = usage?.["input_tokens"] ?? usage?.["prompt_tokens"];
      expect(facts.usage?.input_tokens, record.id).toBe(input);
      return [record.id];
    });
    expect(read.length).toBeGreaterThanOrEqual(6);
  });
});
