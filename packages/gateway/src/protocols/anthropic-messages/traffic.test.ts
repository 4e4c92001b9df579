import { describe, expect, it } from "vitest";
import { readTraffic, responseBytes, type TrafficRecord, trafficDir } from "../../../test/support/replay-server.ts";
import { inOnePiece } from "../../core/pieces.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { SseSplitter } from "../../http/sse-splitter.ts";
import { anthropicCountTokens } from "../anthropic-count-tokens/index.ts";
import { toCanonical } from "./canonical.ts";
import { fromCanonical } from "./encode.ts";
import { encodeReply } from "./encode-reply.ts";
import { classifyFailure } from "./error.ts";
import { decoded, eventsIn, partsOf, QUIRKS, shown, target } from "./fixtures/calls.ts";
import { checkOrder } from "./fixtures/event-order.ts";
import { decodeReply, readReply } from "./reply.ts";
import { passRequest } from "./request.ts";
import { streamReader } from "./stream.ts";
import { streamWriter } from "./writer.ts";

const dir = trafficDir();
const FILES = ["anthropic-messages", "vertex-anthropic-messages", "local-messages"] as const;
/** What the files held when this was written: a test that saw fewer records would prove nothing. */
const RECORDS_MIN = 69;
const STREAMS_MIN = 26;
type Json = Record<string, unknown>;

function records(): TrafficRecord[] {
  return FILES.flatMap((file) => readTraffic(dir ?? "", file));
}

function bodyOf(record: TrafficRecord): Json | null {
  const body = record.request.body as Json | null;
  // Vertex has the model in the path.
  return body && { model: "m", ...body };
}

/** The parts of a recorded stream, cut into pieces of that many bytes, up to its end mark. */
function recordedParts(record: TrafficRecord, cut: number): { parts: StreamPart[]; ended: boolean } {
  const bytes = responseBytes(record);
  const splitter = new SseSplitter(1_000_000);
  const reader = streamReader();
  const parts: StreamPart[] = [];
  let ended = false;
  for (let at = 0; at < bytes.length; at += cut) {
    splitter.push(bytes.subarray(at, at + cut), (event) => {
      if (event.data === null || ended) return;
      const reading = reader.read(event.data, event.name);
      parts.push(...reading.parts);
      ended = reading.terminator;
    });
  }
  return { parts, ended };
}

/** The text of a stream's deltas, put together without the reader. */
function said(record: TrafficRecord, delta: string, key: string): string {
  let ended = false;
  return String(record.response.body)
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => JSON.parse(line.slice(5)) as Json)
    .map((event) => {
      const given = event["delta"] as Json | undefined;
      const block = event["content_block"] as Json | undefined;
      // A call of a program's comes whole.
      const whole = key === "partial_json" && block?.["type"] === "tool_use" ? JSON.stringify(block["input"]) : "{}";
      if (!ended && whole !== "{}") return whole;
      const told = !ended && given?.["type"] === delta ? String(given[key]) : "";
      ended ||= event["type"] === "message_stop";
      return told;
    })
    .join("");
}

function textIn(parts: readonly StreamPart[], type: "text" | "reasoning"): string {
  return parts.map((part) => (part.type === type ? part.text : "")).join("");
}

describe.skipIf(dir === null)("recorded Messages traffic (shared/traffic)", () => {
  it("holds as many records as it did", () => {
    expect(records().length).toBeGreaterThanOrEqual(RECORDS_MIN);
    expect(records().filter(({ stream }) => stream).length).toBeGreaterThanOrEqual(STREAMS_MIN);
  });

  it("passes every request on unchanged but for the model", () => {
    for (const record of records()) {
      const body = bodyOf(record);
      if (!body || record.response.status === 400) continue;
      const sent = inOnePiece(passRequest(decoded(body), target("claude-x"))).toString();
      expect(sent, record.id).toBe(JSON.stringify({ ...body, model: "claude-x" }));
    }
  });

  it("says every request again as it was, as far as the canonical form goes", () => {
    let seen = 0;
    for (const record of records()) {
      const body = bodyOf(record);
      if (!body || record.response.status === 400) continue;
      seen++;
      const first = toCanonical(decoded(body));
      const to = target(String(body["model"]));
      const again = toCanonical(decoded(fromCanonical(first, to).body.toString()));
      const bare = (request: typeof first) => ({
        messages: request.messages
          .filter(({ role }) => role !== "system")
          .map(({ role, blocks }) => ({ role, blocks: blocks.filter(({ type }) => type !== "opaque") })),
        // Not to be strict is the default.
        tools: request.tools
          .filter(({ type }) => type === "function")
          .map((tool) => ({ ...tool, strict: "strict" in tool && tool.strict === true })),
        stop: request.stop,
        stream: request.stream,
        max: request.maxOutputTokens,
      });
      const plain = first.messages.every(
        ({ role, blocks }, at) => (role !== "system" || at === 0) && blocks.every(({ type }) => type !== "opaque"),
      );
      if (plain) expect(bare(again), record.id).toEqual(bare(first));
    }
    expect(seen).toBeGreaterThanOrEqual(55);
  });

  it("reads every JSON answer, and says it again as it was", () => {
    let seen = 0;
    for (const record of records()) {
      const answer = record.response.body as Json;
      if (record.stream || record.response.status !== 200 || typeof answer !== "object") continue;
      seen++;
      const bytes = responseBytes(record);
      const facts = readReply(bytes, QUIRKS, 0);
      const usage = answer["usage"] as Record<string, number>;
      expect(facts, record.id).toMatchObject({
        model: answer["model"],
        usage: {
          input_tokens:
            (usage["input_tokens"] ?? 0) +
            (usage["cache_creation_input_tokens"] ?? 0) +
            (usage["cache_read_input_tokens"] ?? 0),
          output_tokens: usage["output_tokens"],
        },
      });
      expect("finishReason" in facts && facts.finishReason, record.id).not.toBeNull();
      const again = JSON.parse(encodeReply(decodeReply(bytes), shown()).toString()) as Json;
      // Citations are told once, behind the text; who called is this provider's own affair.
      const blocks = (content: unknown) =>
        (content as Json[])
          .filter((block) => block["text"] !== "")
          .map(({ citations: _, caller: __, ...block }) => block);
      expect(blocks(again["content"]), record.id).toEqual(blocks(answer["content"]));
      expect(again["stop_reason"], record.id).toBe(answer["stop_reason"]);
    }
    expect(seen).toBeGreaterThanOrEqual(36);
  });

  it("reads every stream however it is cut, and writes it again in order", () => {
    let seen = 0;
    for (const record of records().filter(({ stream, response }) => stream && response.status === 200)) {
      seen++;
      const { parts, ended } = recordedParts(record, 1 << 20);
      expect(ended, record.id).toBe(true);
      expect(recordedParts(record, 7).parts, record.id).toEqual(parts);
      expect(textIn(parts, "text"), record.id).toBe(said(record, "text_delta", "text"));
      expect(textIn(parts, "reasoning"), record.id).toBe(said(record, "thinking_delta", "thinking"));
      const input = parts.map((part) => {
        if (part.type === "tool_arguments") return part.text;
        const value =
          part.type === "annotation" && part.annotation.type === "opaque" ? (part.annotation.value as Json) : {};
        return value["type"] === "input_json_delta" ? String(value["partial_json"]) : "";
      });
      expect(input.join(""), record.id).toBe(said(record, "input_json_delta", "partial_json"));
      expect(
        parts.filter(({ type }) => type === "finish"),
        record.id,
      ).toHaveLength(1);
      expect(
        parts.some(({ type }) => type === "usage"),
        record.id,
      ).toBe(true);
      expect(parts.filter(({ type }) => type === "tool_start").length).toBe(
        parts.filter(({ type }) => type === "tool_end").length,
      );

      const writer = streamWriter(shown());
      const bytes = parts.map((part) => writer.write(part)?.toString() ?? "").join("") + writer.end(null).toString();
      checkOrder(eventsIn(bytes));
      const again = partsOf(bytes);
      expect(textIn(again, "text"), record.id).toBe(textIn(parts, "text"));
      const kinds = (from: StreamPart[]) =>
        from.filter(({ type }) => /^(tool|finish)/.test(type) && type !== "tool_arguments");
      expect(kinds(again), record.id).toEqual(kinds(parts));
    }
    expect(seen).toBeGreaterThanOrEqual(STREAMS_MIN);
  });

  it("classifies every error", () => {
    const classes = records()
      .filter(({ response }) => response.status !== 200)
      .map((record) => {
        const { status, headers } = record.response;
        return `${status} ${classifyFailure(status, headers, responseBytes(record), 0).class}`;
      });
    expect([...new Set(classes)].sort()).toEqual(["400 bad_request", "401 auth_failed", "404 model_not_found"]);
    const shapes = readTraffic(dir ?? "", "error-shapes").filter(({ provider }) => provider === "anthropic");
    expect(shapes.length).toBeGreaterThan(0);
    for (const record of shapes) {
      const { status, headers } = record.response;
      const kind = classifyFailure(status, headers, responseBytes(record), 0).class;
      expect([record.id, kind]).toEqual([record.id, EXPECTED[status] ?? kind]);
    }
  });

  it("counts tokens: requests pass, answers are read, errors classified", () => {
    const counts = readTraffic(dir ?? "", "anthropic-count-tokens");
    expect(counts).toHaveLength(6);
    for (const record of counts) {
      const raw = Buffer.from(JSON.stringify(record.request.body));
      const header = (name: string) => (name === "content-type" ? "application/json" : undefined);
      const call = anthropicCountTokens.decodeRequest({ raw, header, path: { query: "beta=true" } });
      expect(anthropicCountTokens.upstreamPath(call, "m")).toBe(record.request.path);
      expect(inOnePiece(anthropicCountTokens.passRequest(call, target(call.alias))).equals(raw)).toBe(true);
      expect(toCanonical(call).messages.length).toBeGreaterThan(0);
      const facts = anthropicCountTokens.readReply(responseBytes(record), QUIRKS, 0, "application/json");
      if (record.response.status === 200)
        expect(facts).toMatchObject({ usage: { input_tokens: 0 }, finishReason: null });
      else expect(facts).toMatchObject({ failure: { class: "model_not_found" } });
    }
  });
});

const EXPECTED: Readonly<Record<number, string>> = {
  401: "auth_failed",
  402: "quota_exhausted",
  403: "auth_failed",
  404: "model_not_found",
  413: "bad_request",
  500: "provider_error",
  504: "timeout",
  529: "overloaded",
};
