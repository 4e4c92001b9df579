import { noUsage } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import { readTraffic, responseBytes, trafficDir } from "../../../test/support/replay-server.ts";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Call } from "../../core/call.ts";
import { geminiCountTokens } from "./index.ts";

const QUIRKS = { maxTokensField: null, streamOptions: false, reasoningInOutput: null };
const TARGET = { model: "gemini-3-flash", quirks: QUIRKS, maxOutputTokens: null };
const CONTENTS = [{ parts: [{ text: "hi" }] }];

function countCall(body: unknown): Call {
  const path = geminiCountTokens.matchPath?.("/v1beta/models/default:countTokens", "key=sg_1");
  if (!path) throw new Error("no path of this protocol");
  const raw = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const header = (name: string): string | undefined => (name === "content-type" ? "application/json" : undefined);
  return geminiCountTokens.decodeRequest({ raw, header, path });
}

function canonicalOf(body: unknown): ReturnType<NonNullable<typeof translation>["toCanonical"]> {
  return translation.toCanonical(countCall(body));
}

const { translation: given } = geminiCountTokens;
if (given?.family !== "count") throw new Error("counting is a family of its own");
const translation = given;

describe("Gemini's token count", () => {
  it("takes contents and whole requests", () => {
    const whole = { contents: CONTENTS, systemInstruction: { parts: [{ text: "be brief" }] } };
    expect(canonicalOf({ contents: CONTENTS }).messages).toHaveLength(1);
    expect(canonicalOf({ generateContentRequest: whole }).messages).toHaveLength(2);
    expect(canonicalOf({ generate_content_request: whole }).messages).toHaveLength(2);
    expect(refusalOf(() => countCall({}))).toMatchObject({ code: "invalid_request", param: "contents" });
  });

  it("passes with the model replaced where a whole request names it", () => {
    const body = Buffer.from('{"generateContentRequest": {"model": "models/default", "contents": [], "n": 1.0}}');
    expect(geminiCountTokens.passRequest(countCall(body), TARGET).toString()).toBe(
      '{"generateContentRequest": {"model": "models/gemini-3-flash", "contents": [], "n": 1.0}}',
    );
    const plain = countCall({ contents: CONTENTS });
    expect(geminiCountTokens.passRequest(plain, TARGET)).toBe(plain.raw);
  });

  it("never keeps the key of the path", () => {
    expect(JSON.stringify({ ...countCall({ contents: CONTENTS }), raw: "" })).not.toContain("sg_1");
  });

  it("costs nothing", () => {
    const facts = geminiCountTokens.readReply(Buffer.from('{"totalTokens":12}'), QUIRKS, 0, "");
    expect(facts).toMatchObject({ usage: noUsage() });
    const shown = { call: countCall({ contents: CONTENTS }), requestId: "r", createdS: 0, model: "m" };
    expect(JSON.parse(translation.encodeCount(12, shown).toString())).toEqual({ totalTokens: 12 });
  });

  it.each(["", "[]", '{"totalTokens":"x"}'])("of %j is none", (body) => {
    expect(geminiCountTokens.readReply(Buffer.from(body), QUIRKS, 0, "")).toMatchObject({
      failure: { class: "invalid_response" },
    });
  });
});

const dir = trafficDir();

describe.skipIf(dir === null)("recorded counts (shared/traffic is absent when this is skipped)", () => {
  const records =
    dir === null ? [] : ["gemini-count-tokens", "vertex-count-tokens"].flatMap((file) => readTraffic(dir, file));

  it("are all here", () => {
    expect(records).toHaveLength(5);
  });

  it.each(records.map((record) => [record.id, record] as const))(
    "%s is asked and answered as recorded",
    (_id, record) => {
      expect(canonicalOf(record.request.body).messages.length).toBeGreaterThan(0);
      const bytes = responseBytes(record);
      if (record.response.status === 200) {
        expect(geminiCountTokens.readReply(bytes, QUIRKS, 0, "")).toMatchObject({ usage: noUsage() });
      } else {
        expect(geminiCountTokens.classifyFailure(record.response.status, {}, bytes, 0).class).toBe("model_not_found");
      }
    },
  );
});
