import OpenAI, { toFile } from "openai";
import { describe, expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";
import { secondsOf, wav, wavText } from "./sound.ts";

function client(simulator: Simulator): OpenAI {
  return new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: "k", maxRetries: 0 });
}

function events(text: string): Loose[] {
  return text.split("\n\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []));
}

/** A sound of one second that says two words. */
const SOUND = wav(200, "hello you");

function form(fields: Record<string, string>, sound = SOUND): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  data.append("file", new Blob([new Uint8Array(sound)], { type: "audio/wav" }), "hello.wav");
  return data;
}

async function transcribe(
  simulator: Simulator,
  fields: Record<string, string>,
  path = "transcriptions",
): Promise<Response> {
  return fetch(`${simulator.url}/v1/audio/${path}`, { method: "POST", body: form(fields) });
}

describe("speech", () => {
  test("is a WAV that says what it was given, or other bytes by format", async () => {
    const simulator = await simulate();
    const speech = client(simulator).audio.speech;
    const ask = { model: "tts-1", voice: "alloy", input: "hello you" };
    const response = await speech.create({ ...ask, response_format: "wav" });
    expect(response.headers.get("content-type")).toBe("audio/wav");
    const sound = Buffer.from(await response.arrayBuffer());
    expect([wavText(sound), secondsOf(sound)]).toEqual(["hello you", 0.01]);
    const mp3 = await speech.create(ask);
    expect(mp3.headers.get("content-type")).toBe("audio/mpeg");
    expect(Buffer.from(await mp3.arrayBuffer()).readUInt16BE(0)).toBe(0xfffb);
    expect(simulator.invoice().lines[0]).toMatchObject({ dialect: "openai-speech", input_tokens: 3, output_tokens: 3 });
    await expect(speech.create({ ...ask, input: "x".repeat(5000) })).rejects.toMatchObject({
      code: "string_above_max_length",
    });
  });

  test("comes as events where they are asked", async () => {
    const simulator = await simulate();
    const ask = { model: "echo?between=1ms", voice: "alloy", input: "hello you", stream_format: "sse" };
    const response = await fetch(`${simulator.url}/v1/audio/speech`, { method: "POST", body: JSON.stringify(ask) });
    const all = events(await response.text());
    expect(all.map((event) => event.type)).toEqual(["speech.audio.delta", "speech.audio.delta", "speech.audio.done"]);
    expect(all[2].usage).toEqual({ input_tokens: 3, output_tokens: 3, total_tokens: 6 });
    expect(simulator.invoice().lines[0]?.stream).toBe(true);
  });
});

describe("transcriptions", () => {
  test("in every format, with usage in tokens or seconds", async () => {
    const simulator = await simulate();
    const json = async (fields: Record<string, string>): Promise<Loose> => (await transcribe(simulator, fields)).json();
    const text = async (format: string) => {
      return (await transcribe(simulator, { model: "whisper-1", response_format: format })).text();
    };
    expect(await json({ model: "gpt-4o-transcribe" })).toEqual({
      text: "hello you",
      usage: {
        type: "tokens",
        total_tokens: 13,
        input_tokens: 10,
        input_token_details: { text_tokens: 0, audio_tokens: 10 },
        output_tokens: 3,
      },
    });
    expect(await json({ model: "whisper-1" })).toEqual({ text: "hello you", usage: { type: "duration", seconds: 1 } });
    expect(await text("text")).toBe("hello you\n");
    expect(await text("srt")).toBe("1\n00:00:00,000 --> 00:00:01,000\nhello you\n\n");
    expect(await text("vtt")).toBe("WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nhello you\n\n");
    const verbose = { model: "whisper-1", response_format: "verbose_json", "timestamp_granularities[]": "word" };
    expect(await json(verbose)).toMatchObject({
      task: "transcribe",
      duration: 1,
      words: [
        { word: "hello", start: 0, end: 0.5 },
        { word: "you", start: 0.5, end: 1 },
      ],
    });
    expect((await json({ ...verbose, model: "gpt-4o-transcribe" })).error.code).toBe("unsupported_value");
    const translated = await transcribe(simulator, { model: "whisper-1" }, "translations");
    expect(await translated.json()).toEqual({ text: "hello you" });
  });

  test("as events, with faults where they should be", async () => {
    const simulator = await simulate();
    const stream = async (model: string) =>
      events(await (await transcribe(simulator, { model, stream: "true" })).text());
    const all = await stream("gpt-4o-transcribe");
    expect(all.map((event) => event.delta ?? event.text)).toEqual(["hello ", "you", "hello you"]);
    expect(all[2]).toMatchObject({ type: "transcript.text.done", usage: { type: "tokens", total_tokens: 13 } });
    expect(await stream("cut?after=1")).toHaveLength(1);
    expect(simulator.invoice().lines.map((line) => [line.dialect, line.stream, line.finished])).toEqual([
      ["openai-transcriptions", true, true],
      ["openai-transcriptions", true, false],
    ]);
  });

  test("the official client's forms are read, and told without their bytes", async () => {
    const simulator = await simulate();
    const file = await toFile(SOUND, "hello.wav", { type: "audio/wav" });
    const body = await client(simulator).audio.transcriptions.create({
      model: "gpt-4o-transcribe",
      file,
      prompt: "names",
    });
    expect(body.text).toBe("hello you");
    const [hit] = simulator.requests().recent;
    expect(JSON.parse(JSON.stringify(hit?.body))).toEqual({
      model: "gpt-4o-transcribe",
      prompt: "names",
      file: { filename: "hello.wav", content_type: "audio/wav", bytes: SOUND.length },
    });
  });

  test("what is no form, or a form without a file, is a 400", async () => {
    const simulator = await simulate();
    const url = `${simulator.url}/v1/audio/transcriptions`;
    const bare = new FormData();
    bare.append("model", "echo");
    expect(((await (await fetch(url, { method: "POST", body: bare })).json()) as Loose).error.param).toBe("file");
    const headers = { "content-type": "multipart/form-data; boundary=x" };
    expect((await fetch(url, { method: "POST", headers, body: "--x\r\nnonsense" })).status).toBe(400);
  });
});
