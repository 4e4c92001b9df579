import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Call } from "../../core/call.ts";
import { inOnePiece } from "../../core/pieces.ts";
import { openaiEmbeddings } from "./index.ts";

const QUIRKS = { maxTokensField: null, streamOptions: true, reasoningInOutput: true } as const;
const decode = (body: string | object): Call =>
  openaiEmbeddings.decodeRequest({
    raw: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { query: "" },
  });
const reply = (body: unknown) =>
  openaiEmbeddings.readReply(
    Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
    QUIRKS,
    0,
    "application/json",
  );

describe("an embeddings request", () => {
  it.each([["text"], [["a", "b"]], [[1, 2, 3]], [[[1, 2], [3]]]])("may ask for %j", (input) => {
    expect(decode({ model: "emb", input })).toMatchObject({ alias: "emb", operation: "embeddings", stream: false });
  });

  it.each<[string, Record<string, unknown>]>([
    ["model", { input: "a" }],
    ["input", { model: "emb" }],
    ["input", { model: "emb", input: null }],
    ["input", { model: "emb", input: "" }],
    ["input", { model: "emb", input: [] }],
    ["input", { model: "emb", input: { text: "a" } }],
    ["input[1]", { model: "emb", input: ["a", null] }],
    ["input[0]", { model: "emb", input: [{ text: "a" }] }],
    ["input[1]", { model: "emb", input: [[1], ["a"]] }],
    ["input[0]", { model: "emb", input: [1.5] }],
    ["dimensions", { model: "emb", input: "a", dimensions: "256" }],
    ["encoding_format", { model: "emb", input: "a", encoding_format: 7 }],
    ["gateway.tenant", { model: "emb", input: "a", gateway: { tenant: "x" } }],
    ["__proto__", JSON.parse('{"model":"emb","input":"a","__proto__":1}') as Record<string, unknown>],
  ])("is refused at %s: %j", (param, body) => {
    expect(refusalOf(() => decode(body))).toMatchObject({ code: "invalid_request", param });
  });

  it("goes on byte for byte, less what is the gateway's, with no key invented", () => {
    const text = '{ "input":["caf\\u00e9", "x"],"dimensions": 256 ,"gateway":{"user":"u"},"model":"emb", "y":1.0}';
    const call = decode(text);
    expect(call.platform.user).toBe("u");
    expect(
      inOnePiece(
        openaiEmbeddings.passRequest(call, { model: "text-3", quirks: QUIRKS, maxOutputTokens: null }),
      ).toString(),
    ).toBe('{ "input":["caf\\u00e9", "x"],"dimensions": 256,"model":"text-3", "y":1.0}');
  });
});

describe("an embeddings reply", () => {
  it.each([
    [{ prompt_tokens: 8, total_tokens: 8 }, 8],
    [{ total_tokens: 9 }, 9],
    [{ prompt_tokens: 0, total_tokens: 0 }, 0],
  ])("uses %j", (usage, tokens) => {
    const facts = reply({ object: "list", model: "m-1", data: [{ embedding: [0.1] }], usage });
    expect(facts).toMatchObject({ model: "m-1", usage: { input_tokens: tokens, output_tokens: 0 } });
  });

  it.each([[undefined], [null], [{}], [{ total_tokens: "9" }], [{ prompt_tokens: -1 }], [{ prompt_tokens: 1e300 }]])(
    "with usage %j uses nobody knows how much",
    (usage) => {
      expect(reply({ data: [], usage })).toMatchObject({ usage: null });
    },
  );

  it.each([
    ["", "invalid_response"],
    ["<html>", "invalid_response"],
    ["null", "invalid_response"],
    ["[]", "invalid_response"],
    ["{}", "invalid_response"],
    [{ data: null }, "invalid_response"],
    [{ error: { code: 429, message: "slow" } }, "rate_limited"],
    [{ error: { message: "boom" } }, "provider_error"],
  ])("%j is a failure: %s", (body, kind) => {
    expect(reply(body)).toMatchObject({ failure: { class: kind } });
  });
});

describe("a client that asks for base64", () => {
  const dress = (format: string | undefined, body: string): string => {
    const call = decode({ model: "emb", input: "a", ...(format && { encoding_format: format }) });
    return openaiEmbeddings.dress?.(call, "", "")?.reply(Buffer.from(body)).toString("utf8") ?? body;
  };
  const floats =
    '{ "object" : "list","data":[{"object":"embedding","index":0, "embedding" : [1.5,-2]}],"model":"m","x":1}';

  it("gets it from a server that answers floats", () => {
    expect(JSON.parse(dress("base64", floats))).toEqual({
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: "AADAPwAAAMA=" }],
      model: "m",
      x: 1,
    });
  });

  it.each([
    '{ "object" : "list", "data":[{"object":"embedding", "embedding" : "AADAPwAAAMA="}]}',
    '{"data":[]}',
    '{"data":[{"object":"embedding"}]}',
    '{"embedding":[1]}',
    '{"data":[{"embedding":["a"]}]}',
  ])("gets %s as it came", (body) => {
    expect(JSON.parse(dress("base64", body))).toEqual(JSON.parse(body));
  });

  it.each(["float", undefined])("and asks for it: %s does not", (format) => {
    expect(dress(format, floats)).toBe(floats);
  });
});
