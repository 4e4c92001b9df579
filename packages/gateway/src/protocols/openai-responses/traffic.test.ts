import { describe, expect, it } from "vitest";
import { readTraffic, responseBytes, type TrafficRecord, trafficDir } from "../../../test/support/replay-server.ts";
import type { Message } from "../../core/message.ts";
import { inOnePiece } from "../../core/pieces.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { isObject } from "../field-checks.ts";
import { dressEvent, dressReply } from "./dress.ts";
import { decoded, eventsOf, joinedParts, QUIRKS, readAll, responsesCall, shownFor, TARGET } from "./fixtures/calls.ts";
import { checkedEvents } from "./fixtures/event-order.ts";
import { openaiResponses } from "./index.ts";
import { encodeReply, streamWriter } from "./writer.ts";

const dir = trafficDir();
const FILES: Readonly<Record<string, number>> = {
  "openai-responses": 60,
  "azure-responses": 35,
  "xai-responses": 9,
  "openrouter-responses": 3,
  "deepseek-responses": 12,
  "local-responses": 5,
  "bedrock-mantle-responses": 13,
  "openai-responses-get": 6,
};
const TOKEN = "0123456789ab";
const ACCOUNT = "01234567";
/** Records somebody has edited, so that the deltas are not what the end repeats. */
const EDITED = ["ai:openai/src/responses/openai-shell-container.1.chunks#0"];

interface Said {
  text: string;
  refusal: string;
  calls: string[];
}

/** What an output says, by the plainest reading of it. */
function saidBy(output: unknown): Said {
  const said: Said = { text: "", refusal: "", calls: [] };
  for (const item of Array.isArray(output) ? output : []) {
    for (const part of item.type === "message" ? item.content : []) {
      said.text += part.text ?? "";
      said.refusal += part.refusal ?? "";
    }
    if (item.type === "function_call") said.calls.push(`${item.call_id} ${item.name} ${item.arguments}`);
    if (item.type === "custom_tool_call") said.calls.push(`${item.call_id} ${item.name} ${item.input}`);
  }
  return said;
}

function saidInStream(bytes: string): Said {
  const said: Said = { text: "", refusal: "", calls: [] };
  const calls = new Map<number, string>();
  for (const part of readAll(bytes)) {
    if (part.type === "text") said.text += part.text;
    if (part.type === "refusal") said.refusal += part.text;
    if (part.type === "tool_start") calls.set(part.index, `${part.id} ${part.name} `);
    if (part.type === "tool_arguments") calls.set(part.index, calls.get(part.index) + part.text);
    if (part.type === "tool_end") said.calls.push(calls.get(part.index) ?? "");
  }
  return said;
}

/** Some records hold the streams of a whole conversation. */
function firstResponse(bytes: string): string {
  const second = bytes.indexOf('"type":"response.created"', bytes.indexOf('"type":"response.created"') + 1);
  return second < 0 ? bytes : bytes.slice(0, bytes.lastIndexOf("event:", second));
}

/** Parts without what cannot come again: counts of nothing, ids of the answer, citations. */
function comparable(parts: readonly StreamPart[]): StreamPart[] {
  const kept = parts.filter((part) => part.type !== "start" && part.type !== "annotation");
  return joinedParts(
    kept.map((part) => {
      // Logprobs come beside the pieces, and pieces may be cut otherwise.
      if (part.type === "text") return { type: "text", choice: 0, text: part.text };
      if (part.type !== "usage") return part;
      return {
        type: "usage",
        usage: Object.fromEntries(Object.entries(part.usage).filter(([, count]) => count !== 0)),
      };
    }),
  );
}

/** Messages without what the dialect does not send again, and without places. */
function repeatable(messages: readonly Message[]): unknown[] {
  return messages.map(({ blocks, ...message }) => ({
    ...message,
    blocks: blocks
      .filter((block) => block.type !== "reasoning" || block.encrypted)
      .map((block) => (block.type === "opaque" ? { ...block, path: "" } : block)),
  }));
}

function lastEvent(bytes: string): Record<string, unknown> {
  const events = eventsOf(bytes).filter(({ data }) => data.trim() !== "[DONE]");
  return JSON.parse(events.at(-1)?.data ?? "{}");
}

const good = (record: TrafficRecord): boolean => record.response.status === 200;

describe.skipIf(dir === null)("recorded Responses traffic", () => {
  for (const [file, count] of Object.entries(FILES)) {
    const records = dir === null ? [] : readTraffic(dir, file);

    it(`${file}: every answer is read, passed on and translated`, () => {
      expect(records).toHaveLength(count);
      let read = 0;
      for (const record of records.filter((one) => good(one) && !one.stream)) {
        const bytes = responseBytes(record);
        const reply = JSON.parse(bytes.toString());
        const facts = openaiResponses.readReply(bytes, QUIRKS, 0, "application/json");
        if ("failure" in facts) throw new Error(`${record.id}: ${facts.failure.message}`);
        const running = ["queued", "in_progress"].includes(reply.status);
        expect(facts.usage?.input_tokens ?? null, record.id).toBe(reply.usage?.input_tokens ?? (running ? null : 0));
        expect(facts.usage?.output_tokens ?? null, record.id).toBe(reply.usage?.output_tokens ?? (running ? null : 0));
        const encoded = JSON.parse(
          encodeReply(
            openaiResponses.translation?.family === "chat"
              ? openaiResponses.translation.decodeReply(bytes, QUIRKS)
              : never(),
            shownFor(responsesCall()),
          ).toString(),
        );
        expect(saidBy(encoded.output), record.id).toEqual(saidBy(reply.output));
        read++;
      }
      expect(read).toBe(records.filter((one) => good(one) && !one.stream).length);
    });

    it(`${file}: every stream is read as its last event has it, and can be written`, () => {
      for (const record of records.filter((one) => good(one) && one.stream && !EDITED.includes(one.id))) {
        const bytes = firstResponse(responseBytes(record).toString("utf8"));
        const last = lastEvent(bytes);
        const parts = readAll(bytes);
        if (last["type"] === "response.failed") {
          expect(
            parts.some((part) => part.type === "error"),
            record.id,
          ).toBe(true);
          continue;
        }
        const response = last["response"] as Record<string, unknown>;
        expect(saidInStream(bytes), record.id).toEqual(saidBy(response["output"]));
        const usage = parts.findLast((part) => part.type === "usage");
        const reported = response["usage"];
        if (isObject(reported))
          expect(usage, record.id).toMatchObject({ usage: { input_tokens: reported["input_tokens"] } });
        expect(
          parts.filter((part) => part.type === "finish"),
          record.id,
        ).toHaveLength(1);
        const writer = streamWriter(shownFor(responsesCall()));
        const written = [...parts.map((part) => (part.type === "error" ? null : writer.write(part))), writer.end(null)];
        const again = written.map((piece) => piece?.toString() ?? "").join("");
        checkedEvents(again);
        expect(comparable(readAll(again)), record.id).toEqual(comparable(parts));
      }
    });

    it(`${file}: ids are dressed, and nothing else changes`, () => {
      for (const record of records.filter(good)) {
        const bytes = responseBytes(record);
        const text = bytes.toString("utf8");
        const pieces = record.stream ? text.split(/(?<=\n\n)/) : [text];
        for (const piece of pieces) {
          const data = eventsOf(piece)[0]?.data ?? null;
          const dressed = record.stream
            ? dressEvent(Buffer.from(piece), data ?? "", TOKEN, ACCOUNT)
            : dressReply(Buffer.from(piece), TOKEN, ACCOUNT);
          const bare = dressed
            .toString("utf8")
            .replaceAll(`sga.${ACCOUNT}.`, "")
            .replaceAll(`_${TOKEN}_`, "_")
            .replace(/[a-z]+_0123456789ab\./g, "");
          expect(bare).toBe(piece);
          if (/"id":"(?!call_)[^"]/.test(piece) && !/"tools"/.test(piece)) expect(dressed.includes(TOKEN)).toBe(true);
        }
      }
    });

    it(`${file}: every request decodes, passes unchanged but for the model, and translates`, () => {
      let pinned = 0;
      for (const record of records) {
        const { body } = record.request;
        if (!isObject(body)) continue;
        const raw = JSON.stringify(body);
        if (
          typeof body["previous_response_id"] === "string" ||
          JSON.stringify(body["input"] ?? "").includes("item_reference")
        ) {
          pinned++;
          expect(() => decoded(raw), record.id).toThrow(/is not an id that this gateway has given out/);
          continue;
        }
        const call = decoded(raw);
        const passed = inOnePiece(openaiResponses.passRequest(call, TARGET)).toString();
        expect(JSON.parse(passed), record.id).toEqual({ ...body, model: "gpt-x" });
        const { translation } = openaiResponses;
        if (translation?.family !== "chat") throw new Error("no chat translation");
        const canonical = translation.toCanonical(call);
        const again = translation.toCanonical(decoded(translation.fromCanonical(canonical, TARGET).body));
        const rest = { foreign: [], reasoning: null, tools: [] };
        expect({ ...again, ...rest, messages: repeatable(again.messages) }, record.id).toEqual({
          ...canonical,
          ...rest,
          messages: repeatable(canonical.messages),
        });
      }
      if (file === "openai-responses") expect(pinned).toBeGreaterThan(0);
    });
  }
});

function never(): never {
  throw new Error("no chat translation");
}
