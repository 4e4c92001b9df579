import { describe, expect, it } from "vitest";
import { CHAT_SOURCES } from "../../../test/support/chat-sources.ts";
import { readTraffic, responseBytes, type TrafficRecord, trafficDir } from "../../../test/support/replay-server.ts";
import type { Call } from "../../core/call.ts";
import type { Block, CanonicalRequest, Reply } from "../../core/message.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { SIMULATOR } from "../../providers/chat-quirks.ts";
import type { Quirks, Target } from "../protocol.ts";
import type { Shown } from "../translation.ts";
import { toCanonical } from "./canonical.ts";
import { decodeReply } from "./decode-reply.ts";
import { fromCanonical } from "./encode.ts";
import { encodeReply } from "./encode-reply.ts";
import { inexpressible } from "./expressible.ts";
import { replyOfParts } from "./fixtures/reply-of-parts.ts";
import { readReply } from "./reply.ts";
import { decodeRequest } from "./request.ts";
import { streamReader } from "./stream.ts";
import { streamWriter } from "./writer.ts";

type Json = Record<string, unknown>;

const QUIRKS: Quirks = {
  maxTokensField: null,
  streamOptions: true,
  reasoningInOutput: null,
  ...SIMULATOR,
  takes: { ...SIMULATOR.takes, cache_control: true, top_k: true, history_reasoning_details: true },
};
const TARGET: Target = { model: "m", quirks: QUIRKS, maxOutputTokens: null };
const dir = trafficDir();
const records = dir === null ? [] : CHAT_SOURCES.flatMap(({ file }) => readTraffic(dir, file));
const good = records.filter(({ response }) => response.status === 200);
const whole = good.filter(({ stream }) => !stream);
const streamed = good.filter(({ stream }) => stream);
const asked = records.filter(({ request }) => Array.isArray((request?.body as Json | null)?.["messages"]));

function decode(body: unknown): Call {
  return decodeRequest({
    raw: Buffer.from(JSON.stringify({ model: "m", ...(body as Json) })),
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { query: "" },
  });
}

const shownTo = (body: Json = {}): Shown => ({
  call: decode({ messages: [{ role: "user", content: "hi" }], stream_options: { include_usage: true }, ...body }),
  requestId: "req_1",
  createdS: 1,
  model: "fallback",
});

/** The JSON events of a stream, by rules of their own. */
function chunksOf(record: TrafficRecord): string[] {
  const text = responseBytes(record).toString("utf8");
  return text.split(/\r?\n/).flatMap((line) => (line.startsWith("data:") ? [line.slice(5)] : []));
}

function partsOf(events: readonly string[]): StreamPart[] {
  const reader = streamReader(QUIRKS);
  return events.flatMap((data) => reader.read(data, null).parts);
}

/** What the first choice says, read from the bytes without the code under test. */
function expected(bodies: Json[]): { text: string; refusal: string; calls: [string, string][] } {
  const said = { text: "", refusal: "", calls: [] as [string, string][] };
  const open = new Map<unknown, [string, string]>();
  for (const choice of bodies.flatMap((body) => (body["choices"] as Json[] | null) ?? [])) {
    if ((choice["index"] ?? 0) !== 0) continue;
    const message = (choice["delta"] ?? choice["message"] ?? {}) as Json;
    const { content } = message;
    for (const piece of Array.isArray(content) ? (content as Json[]) : []) said.text += (piece["text"] as string) ?? "";
    if (typeof content === "string") said.text += content;
    said.refusal += (message["refusal"] as string | null) ?? "";
    const older = message["function_call"] as Json | null;
    const calls =
      (message["tool_calls"] as Json[] | null) ??
      (older?.["name"] || older?.["arguments"] ? [{ index: 0, function: older }] : []);
    for (const call of calls) {
      const named = (call["function"] ?? call["custom"]) as Json;
      const key = call["index"] ?? call["id"];
      let entry = open.get(key);
      if (!entry || (named["name"] && call["id"] && entry[0] !== "")) {
        entry = ["", ""];
        open.set(key, entry);
        said.calls.push(entry);
      }
      entry[0] += (named["name"] as string) ?? "";
      const given = named["arguments"] ?? named["input"] ?? "";
      entry[1] += typeof given === "string" ? given : JSON.stringify(given);
    }
  }
  return said;
}

/** The same of a reply in canonical form. */
function saidBy(reply: Reply): { text: string; refusal: string; calls: [string, string][] } {
  const blocks = reply.choices[0]?.blocks ?? [];
  const joined = (type: "text" | "refusal"): string =>
    blocks.map((block) => (block.type === type ? block.text : "")).join("");
  return {
    text: joined("text"),
    refusal: joined("refusal"),
    calls: blocks.flatMap((block) =>
      block.type === "tool_call" ? [[block.name, block.text] as [string, string]] : [],
    ),
  };
}

/** What survives being said to a chat client: all of it but the provider's own id and what only it knows. */
function comparable(reply: Reply, model: string): Json {
  return {
    model: reply.model ?? model,
    usage: reply.usage,
    choices: reply.choices.map((choice) => ({
      ...choice,
      stopSequence: null,
      finish: choice.finish ?? "stop",
      blocks: choice.blocks.map((block) =>
        block.type === "tool_call" && block.text.trim() === "" ? { ...block, text: "{}" } : block,
      ),
      annotations: choice.annotations.map((each) =>
        each.type === "url_citation"
          ? { ...each, title: each.title ?? "", start: each.start ?? 0, end: each.end ?? 0 }
          : each,
      ),
    })),
  };
}

/** A file without a name gets one on its way. */
function named(request: CanonicalRequest): CanonicalRequest {
  const name = (block: Block): Block =>
    block.type === "document" && block.title === undefined ? { ...block, title: "document.pdf" } : block;
  return {
    ...request,
    messages: request.messages.map((message) => ({ ...message, blocks: message.blocks.map(name) })),
  };
}

describe.skipIf(dir === null)("recorded chat traffic in canonical form, where SLUICEGATE_TRAFFIC_DIR has it", () => {
  it("is all there", () => {
    expect([records.length, whole.length, streamed.length, asked.length]).toEqual([390, 246, 126, 350]);
  });

  it.each(whole.map((record) => [record.id, record] as const))("answer %s", (_, record) => {
    const body = responseBytes(record);
    const facts = readReply(body, QUIRKS, 0);
    if ("failure" in facts) return;
    const reply = decodeReply(body, QUIRKS);
    expect(saidBy(reply)).toEqual(expected([JSON.parse(body.toString("utf8")) as Json]));
    expect({ usage: reply.usage, model: reply.model }).toEqual({ usage: facts.usage, model: facts.model });
    expect(reply.choices[0]?.finish ?? null).toBe(facts.finishReason);
    const again = decodeReply(encodeReply(reply, shownTo()), QUIRKS);
    expect(comparable(again, "fallback")).toEqual(comparable(reply, "fallback"));
  });

  it.each(streamed.map((record) => [record.id, record] as const))("stream %s", (_, record) => {
    const events = chunksOf(record);
    const parts = partsOf(events);
    const failed = parts.some((part) => part.type === "error");
    const reply = replyOfParts(parts);
    const all = events.flatMap((data) => (data.trim().startsWith("{") ? [JSON.parse(data) as Json] : []));
    // One recording holds several answers, one behind the other.
    const bodies = all.filter((body) => body["id"] === all[0]?.["id"] || record.provider !== "cerebras");
    expect(saidBy(reply)).toEqual(expected(bodies));
    if (failed) return;
    const writer = streamWriter(shownTo({ stream: true }));
    const bytes = [...parts.map((part) => writer.write(part)), writer.end(null)].flatMap((piece) => piece ?? []);
    const text = Buffer.concat(bytes).toString("utf8");
    const again = replyOfParts(partsOf(text.split("\n\n").map((event) => event.slice("data: ".length))));
    expect(comparable(again, "fallback")).toEqual(comparable(reply, "fallback"));
  });

  it.each(asked.map((record) => [record.id, record] as const))("request %s", (_, record) => {
    const request = toCanonical(decode(record.request.body));
    const { body, dropped } = fromCanonical(request, TARGET);
    const tier = request.serviceTier === "on_demand" ? null : request.serviceTier;
    const meant = inexpressible(request, TARGET);
    const lost = new Set([...meant, ...request.foreign.map(({ path }) => path)]);
    if (request.metadata) lost.add("metadata");
    if (request.serviceTier !== tier) lost.add("service_tier");
    expect(new Set(dropped)).toEqual(lost);
    const again = toCanonical(decode(JSON.parse(body.toString("utf8"))));
    const kept = { ...request, metadata: null, serviceTier: tier, foreign: [] };
    // Documents by address have no place in the dialect of most: what is left says so, and is no more than that.
    if (meant.includes("documents")) kept.messages = again.messages;
    expect(again).toEqual(named(kept));
  });
});
