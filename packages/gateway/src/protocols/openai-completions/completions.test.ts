import { noUsage } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import { readTraffic, responseBytes, type TrafficRecord, trafficDir } from "../../../test/support/replay-server.ts";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Call } from "../../core/call.ts";
import type { Choice } from "../../core/message.ts";
import { inOnePiece } from "../../core/pieces.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { replyOfParts } from "../openai-chat/fixtures/reply-of-parts.ts";
import { openaiChat } from "../openai-chat/index.ts";
import type { Quirks } from "../protocol.ts";
import { translates } from "../translate.ts";
import type { Shown } from "../translation.ts";
import { encodeReply, streamWriter } from "./answer.ts";
import { toCanonical } from "./canonical.ts";
import { openaiCompletions } from "./index.ts";

type Json = Record<string, unknown>;

const QUIRKS: Quirks = { maxTokensField: "max_completion_tokens", streamOptions: true, reasoningInOutput: true };
const decode = (body: Json | string): Call =>
  openaiCompletions.decodeRequest({
    raw: Buffer.from(typeof body === "string" ? body : JSON.stringify({ model: "default", ...body })),
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { query: "" },
  });
const sent = (body: Json | string): string =>
  inOnePiece(
    openaiCompletions.passRequest(decode(body), { model: "up", quirks: QUIRKS, maxOutputTokens: null }),
  ).toString("utf8");
const shown = (body: Json = {}): Shown => ({
  call: decode({ prompt: "p", ...body }),
  requestId: "req_01ABC",
  createdS: 7,
  model: "asked-for",
});

describe("a completions request", () => {
  it("says what routing, money and the ledger need", () => {
    const call = decode({
      prompt: ["a", "b"],
      max_tokens: 9,
      n: 3,
      stream: true,
      stream_options: { include_usage: true },
      logprobs: 0,
      user: "u",
    });
    expect(call).toMatchObject({
      dialect: "openai-completions",
      operation: "completions",
      alias: "default",
      stream: true,
      maxOutputTokens: 9,
      choices: 6,
      showsUsage: true,
      platform: { user: "u" },
    });
    expect([...call.needs]).toEqual(["n", "logprobs"]);
  });

  it.each<[string, Json]>([
    ["prompt", {}],
    ["prompt", { prompt: null }],
    ["prompt", { prompt: [] }],
    ["prompt", { prompt: { text: "a" } }],
    ["prompt[1]", { prompt: ["a", null] }],
    ["prompt[0]", { prompt: [1.5] }],
    ["max_tokens", { prompt: "a", max_tokens: "9" }],
    ["stop", { prompt: "a", stop: [1] }],
    ["echo", { prompt: "a", echo: "yes" }],
    ["stream_options", { prompt: "a", stream_options: 1 }],
  ])("is refused at %s: %j", (param, body) => {
    expect(refusalOf(() => decode(body))).toMatchObject({ code: "invalid_request", param });
  });

  it("goes on byte for byte, less what is the gateway's, with usage asked for in a stream", () => {
    expect(sent('{ "model":"a","prompt" : [1,2],"max_tokens":5, "gateway":{"user":"u"},"y":1.0}')).toBe(
      '{ "model":"up","prompt" : [1,2],"max_tokens":5,"y":1.0}',
    );
    expect(sent('{"model":"a","prompt":"p","stream":true}')).toBe(
      '{"model":"up","prompt":"p","stream":true,"stream_options":{"include_usage":true}}',
    );
  });
});

describe("a completion that a chat model is asked for", () => {
  it.each([["say hi"], [["say hi"]]])("%j is the user's message", (prompt) => {
    const request = toCanonical(decode({ prompt, max_tokens: 5, temperature: 0, stop: ["\n"], user: "u", n: 2 }));
    expect(request).toMatchObject({
      messages: [{ role: "user", blocks: [{ type: "text", text: "say hi" }] }],
      maxOutputTokens: 5,
      temperature: 0,
      stop: ["\n"],
      user: "u",
      n: 2,
      foreign: [],
    });
  });

  it.each<[Json, string[]]>([
    [{ prompt: ["a", "b"] }, ["prompt!"]],
    [{ prompt: [1, 2] }, ["prompt!"]],
    [{ prompt: [[1, 2]] }, ["prompt!"]],
    [{ prompt: "a", suffix: "z" }, ["suffix!"]],
    [{ prompt: "a", echo: true }, ["echo!"]],
    [{ prompt: "a", best_of: 3 }, ["best_of!"]],
    [{ prompt: "a", logprobs: 0 }, ["logprobs!"]],
    [{ prompt: "a", logit_bias: { "5": 1 } }, ["logit_bias!"]],
    [{ prompt: "a", x_new: 1 }, ["x_new"]],
    [{ prompt: "a", suffix: null, echo: false, best_of: 1, logprobs: null }, []],
  ])("%j cannot be said: %j", (body, paths) => {
    const { foreign } = toCanonical(decode(body));
    expect(foreign.map(({ path, meaning }) => (meaning ? `${path}!` : path))).toEqual(paths);
  });

  it("comes back as a text_completion", () => {
    const choice: Choice = {
      blocks: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "hi" },
      ],
      finish: "length",
      stopSequence: null,
      logprobs: null,
      annotations: [],
    };
    const usage = { ...noUsage(), input_tokens: 3, output_tokens: 2 };
    const body = encodeReply({ id: "x", model: "m-1", choices: [choice], usage }, shown());
    expect(JSON.parse(body.toString("utf8"))).toMatchObject({
      id: "cmpl-01ABC",
      object: "text_completion",
      created: 7,
      model: "m-1",
      choices: [{ text: "hi", index: 0, logprobs: null, finish_reason: "length" }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
    expect(openaiCompletions.readReply(body, QUIRKS, 0, "application/json")).toMatchObject({
      usage,
      finishReason: "length",
    });
  });

  it.each([
    [true, null],
    [false, null],
    [true, { request_id: "r" }],
    [false, { request_id: "r" }],
  ])("streams chunks, with usage shown: %s, metadata: %j", (asks, metadata) => {
    const writer = streamWriter(shown({ stream: true, ...(asks && { stream_options: { include_usage: true } }) }));
    const parts: StreamPart[] = [
      { type: "start", id: "x", model: "m-1" },
      { type: "reasoning", choice: 0, text: "hm" },
      { type: "text", choice: 0, text: "h" },
      { type: "text", choice: 0, text: "i" },
      { type: "finish", choice: 0, reason: "stop" },
      { type: "usage", usage: { input_tokens: 3, output_tokens: 2 } },
    ];
    expect(writer.write(parts[0] as StreamPart)).toBeNull();
    const pieces = [...parts.slice(1).map((part) => writer.write(part)), writer.end(metadata)];
    const events = Buffer.concat(pieces.flatMap((piece) => piece ?? []))
      .toString("utf8")
      .trimEnd()
      .split("\n\n");
    expect(events.at(-1)).toBe("data: [DONE]");
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)) as Json);
    expect(chunks.slice(0, 3).map((chunk) => (chunk["choices"] as [Json])[0])).toEqual([
      { text: "h", index: 0, logprobs: null, finish_reason: null },
      { text: "i", index: 0, logprobs: null, finish_reason: null },
      { text: "", index: 0, logprobs: null, finish_reason: "stop" },
    ]);
    expect(
      chunks.every(({ id, object, model }) => id === "cmpl-01ABC" && object === "text_completion" && model === "m-1"),
    ).toBe(true);
    expect(chunks[3]?.["usage"] !== undefined).toBe(asks);
    expect(chunks[3]?.["gateway_metadata"] ?? null).toEqual(metadata);
    const reader = openaiCompletions.streamReader(QUIRKS);
    const again = events.flatMap((event) => reader.read(event.slice("data: ".length), null).parts);
    expect(replyOfParts(again).choices[0]).toMatchObject({ blocks: [{ type: "text", text: "hi" }], finish: "stop" });
  });

  it("is never asked of a completions server", () => {
    expect(translates(openaiChat, openaiCompletions)).toBe(false);
    expect(translates(openaiCompletions, openaiChat)).toBe(true);
  });
});

const dir = trafficDir();

describe.skipIf(dir === null)("recorded completions, where SLUICEGATE_TRAFFIC_DIR has them", () => {
  const records = dir === null ? [] : readTraffic(dir, "openai-completions");

  it("are all there", () => {
    const good = records.filter(({ response }) => response.status === 200);
    expect([records.length, good.length]).toEqual([11, 9]);
  });

  it.each(records.map((record) => [record.id, record] as const))("%s", (_, record) => {
    holds(record);
  });
});

function holds(record: TrafficRecord): void {
  const body = responseBytes(record);
  const text = body.toString("utf8");
  const asked = record.request?.body as Json | null;
  if (asked?.["prompt"]) expect(JSON.parse(sent(asked))).toMatchObject({ ...asked, model: "up" });
  if (record.response.status !== 200) {
    const { status } = record.response;
    const kind = status === 404 ? "model_not_found" : "bad_request";
    expect(openaiCompletions.classifyFailure(status, {}, body, 0)).toMatchObject({ class: kind });
    return;
  }
  if (!record.stream) {
    const said = JSON.parse(text) as { usage: Json; choices: Json[] };
    expect(openaiCompletions.readReply(body, QUIRKS, 0, "application/json")).toMatchObject({
      usage: { input_tokens: said.usage["prompt_tokens"], output_tokens: said.usage["completion_tokens"] },
      finishReason: said.choices[0]?.["finish_reason"],
    });
    return;
  }
  const events = text.split("\n").flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trim()] : []));
  const reader = openaiCompletions.streamReader(QUIRKS);
  const reply = replyOfParts(events.flatMap((event) => reader.read(event, null).parts));
  const chunks = events.flatMap((event) =>
    event.startsWith("{") ? [JSON.parse(event) as { choices: Json[]; usage?: Json | null }] : [],
  );
  const first = chunks.flatMap(({ choices }) => choices).filter((choice) => choice["index"] === 0);
  const words = first.map((choice) => choice["text"]).join("");
  expect(reply.choices[0]?.blocks.map((block) => (block.type === "text" ? block.text : ""))).toEqual(
    words === "" ? [] : [words],
  );
  expect(reply.choices[0]?.finish).toBe(first.map((choice) => choice["finish_reason"]).find(Boolean));
  expect(reply.usage?.input_tokens).toBe(chunks.find(({ usage }) => usage)?.usage?.["prompt_tokens"]);
}
