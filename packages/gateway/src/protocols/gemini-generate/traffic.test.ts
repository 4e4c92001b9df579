import { noUsage } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import {
  geminiCall,
  merged,
  partsOfStream,
  QUIRKS,
  shownFor,
  targetModel,
} from "../../../test/support/gemini-calls.ts";
import { readTraffic, responseBytes, type TrafficRecord, trafficDir } from "../../../test/support/replay-server.ts";
import type { Message } from "../../core/message.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { isObject } from "../field-checks.ts";
import { mergeUsage } from "../protocol.ts";
import { toCanonical } from "./canonical.ts";
import { collectReply } from "./collect.ts";
import { fromCanonical } from "./encode.ts";
import { classifyFailure } from "./error.ts";
import { inexpressible } from "./expressible.ts";
import { decodeReply, encodeReply, readReply } from "./reply.ts";
import { streamWriter } from "./writer.ts";

const dir = trafficDir();
const FILES = ["gemini-generate", "vertex-generate"];
const records = dir === null ? [] : FILES.flatMap((file) => readTraffic(dir, file));
const STREAM_CALL = geminiCall({ contents: [{ parts: [{ text: "hi" }] }] }, "streamGenerateContent", "alt=sse");

/** Every response object of a record's answer, in order. */
function responsesOf(record: TrafficRecord): unknown[] {
  const { body } = record.response;
  if (typeof body !== "string") return Array.isArray(body) ? body : [body];
  return body
    .split(/\r?\n\r?\n/)
    .filter((event) => event.startsWith("data:"))
    .map((event) => JSON.parse(event.slice("data:".length)) as unknown);
}

/** The record's answer as server-sent events, whatever its own framing. */
function asEvents(record: TrafficRecord): Buffer {
  if (typeof record.response.body === "string") return responseBytes(record);
  return Buffer.from(
    responsesOf(record)
      .map((response) => `data: ${JSON.stringify(response)}\r\n\r\n`)
      .join(""),
  );
}

/** All values of one key, anywhere in what was answered. */
function every(value: unknown, key: string): unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => every(item, key));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => (name === key ? [item] : every(item, key)));
}

const good = records.filter((record) => record.response.status === 200);

describe.skipIf(dir === null)("recorded traffic (shared/traffic is absent when this is skipped)", () => {
  it("holds the records this suite was written against", () => {
    expect(records).toHaveLength(111);
    expect(good).toHaveLength(102);
  });

  const asked = records.filter((record) => isObject(record.request.body));
  it.each(asked.map((record) => [record.id, record] as const))(
    "request of %s comes back from canonical form",
    (_id, record) => {
      const call = geminiCall(record.request.body);
      const canonical = toCanonical(call);
      const model = targetModel("sim/echo");
      // What only Google has is said to Google.
      const foreign = canonical.foreign.filter(({ meaning }) => meaning).map(({ path }) => path);
      expect(inexpressible(canonical, model)).toEqual(foreign);
      const again = toCanonical(geminiCall(fromCanonical(canonical, model).body));
      expect({ ...again, foreign: [], messages: [] }).toEqual({ ...canonical, foreign: [], messages: [] });
      const wanted = canonical.messages.map((message) => ({
        ...message,
        // Thoughts nobody signed are worth nothing to Google; empty texts are refused.
        blocks: message.blocks.filter(
          (block) => !(block.type === "reasoning" && !block.signature) && !(block.type === "text" && block.text === ""),
        ),
      }));
      expect(placeless(again.messages)).toEqual(placeless(wanted));
    },
  );

  it.each(good.map((record) => [record.id, record] as const))("answer of %s is read whole", (_id, record) => {
    const parts = partsOfStream(asEvents(record));
    const responses = responsesOf(record);
    const errors = parts.filter((part) => part.type === "error");
    const failed = record.tags.includes("finish:UNEXPECTED_TOOL_CALL") || every(responses, "blockReason").length > 0;
    expect(errors).toHaveLength(failed ? 1 : 0);
    if (failed) return;
    const reply = collectReply(parts);
    const texts = responses.flatMap((response) => every(every(response, "parts"), "text"));
    const said = parts.flatMap((part) => (part.type === "text" || part.type === "reasoning" ? [part.text] : []));
    expect(said.join("")).toBe(texts.join(""));
    const names = responses.flatMap((response) =>
      every(response, "functionCall").flatMap((call) => (isObject(call) && call["name"] ? [call["name"]] : [])),
    );
    const calls = reply.choices.flatMap((choice) => choice.blocks.filter((block) => block.type === "tool_call"));
    expect(calls.map((call) => call.name)).toEqual(names);
    for (const call of calls) expect(call.arguments).toBeTypeOf("object");
    const signatures = new Set(responses.flatMap((response) => every(response, "thoughtSignature")));
    const kept = parts.flatMap((part) => ("signature" in part && part.signature ? [part.signature.value] : []));
    const opaque = every(
      parts.filter((part) => part.type === "annotation"),
      "thoughtSignature",
    );
    expect(new Set([...kept, ...opaque])).toEqual(signatures);
    expect(reply.choices.every((choice) => choice.finish !== null)).toBe(true);
    const last = every(responses, "usageMetadata").at(-1) as Record<string, number>;
    if (last["totalTokenCount"] !== undefined) {
      const usage = reply.usage ?? noUsage();
      expect(usage.input_tokens + usage.output_tokens).toBe(last["totalTokenCount"]);
      expect(usage.reasoning_tokens).toBe(last["thoughtsTokenCount"] ?? 0);
      expect(usage.cached_input_tokens).toBe(last["cachedContentTokenCount"] ?? 0);
    }
  });

  const whole = good.filter((record) => isObject(record.response.body));
  it.each(whole.map((record) => [record.id, record] as const))("JSON answer of %s has its facts", (_id, record) => {
    const facts = readReply(responseBytes(record), QUIRKS, 0);
    if (record.tags.includes("finish:UNEXPECTED_TOOL_CALL")) {
      expect(facts).toMatchObject({ failure: { class: "provider_error" } });
    } else if (every(record.response.body, "blockReason").length > 0) {
      expect(facts).toMatchObject({ failure: { class: "content_filtered" } });
    } else {
      const reply = decodeReply(responseBytes(record));
      expect(facts).toMatchObject({ finishReason: reply.choices[0]?.finish, usage: reply.usage });
      const again = decodeReply(encodeReply(reply, shownFor(STREAM_CALL)));
      expect({ ...again, id: reply.id, model: reply.model }).toEqual(reply);
    }
  });

  it.each(good.map((record) => [record.id, record] as const))(
    "stream of %s is written as it was read",
    (_id, record) => {
      const parts = partsOfStream(asEvents(record));
      if (parts.some((part) => part.type === "error")) return;
      const writer = streamWriter(shownFor(STREAM_CALL));
      const bytes = [...parts.map((part) => writer.write(part)), writer.end(null)].filter((piece) => piece !== null);
      expect(plain(partsOfStream(Buffer.concat(bytes)))).toEqual(plain(parts));
    },
  );

  it("classifies every recorded error", () => {
    const failed = records.filter((record) => record.response.status !== 200);
    const classes = failed.map((record) => {
      const { status, headers } = record.response;
      return `${status} ${classifyFailure(status, headers, responseBytes(record), 0).class}`;
    });
    expect(classes.sort()).toEqual([
      ...["400 auth_failed", "400 bad_request", "400 bad_request", "400 bad_request"],
      ...["403 auth_failed", "404 model_not_found", "404 model_not_found", "404 model_not_found", "429 rate_limited"],
    ]);
  });
});

/** What must be the same however a stream is cut: the usage at the end, citations behind the text, one text. */
function plain(parts: readonly StreamPart[]): object {
  const usage = noUsage();
  for (const part of parts) if (part.type === "usage") mergeUsage(usage, part.usage);
  const beside = parts.filter((part) => part.type === "annotation" && part.annotation.type === "url_citation");
  const said = parts.filter((part) => !["usage", "start", "annotation"].includes(part.type));
  return { usage, beside: new Set(beside.map((part) => JSON.stringify(part))), said: merged(said) };
}

/** Where a part stood moves when turns are merged; what it is does not. */
function placeless(messages: readonly Message[]): unknown {
  return messages.map((message) => ({
    ...message,
    blocks: message.blocks.map((block) => (block.type === "opaque" ? { ...block, path: "" } : block)),
  }));
}
