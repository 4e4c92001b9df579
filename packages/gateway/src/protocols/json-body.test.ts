import { describe, expect, it } from "vitest";
import { refusalOf } from "../../test/support/thrown.ts";
import { LIMITS } from "../core/limits.ts";
import { parseJsonBody } from "./json-body.ts";

const parseJsonObject = (raw: Buffer, type: string | undefined) => parseJsonBody(raw, type).body;
const JSON_TYPE = "application/json";
const refused = (text: string | Buffer, type: string | undefined = JSON_TYPE) =>
  refusalOf(() => parseJsonObject(Buffer.from(text), type));

describe("parseJsonBody", () => {
  it.each([
    "application/json",
    "Application/JSON; charset=utf-8",
    " application/vnd.api+json",
    "application/json;charset=UTF-8",
  ])("takes content type %j", (type) => {
    expect(parseJsonObject(Buffer.from('{"a":1}'), type)).toEqual({ a: 1 });
  });

  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "",
  ])("refuses content type %j, naming it", (type) => {
    const { code, message } = refused("{}", type);
    expect(code).toBe("invalid_request");
    expect(message).toContain(type.slice(0, 60));
    expect(message).toContain("application/json");
  });

  it("says so when the content type is missing", () => {
    expect(refusalOf(() => parseJsonObject(Buffer.from("{}"), undefined)).message).toContain(
      "content-type header is missing",
    );
  });

  it.each([
    ["", "empty"],
    ["{", "ends too early"],
    ['{"a":1', "ends too early"],
    ['{"a":"b', "ends too early"],
    ['{"a":1,\n "b" 2}', "line 2, column 6"],
    ['{"a":1} x', "line 1, column 9"],
    ["{'a':1}", "line 1, column 2"],
    ['{"a":undefined}', "not valid JSON"],
    ['{"a":NaN}', "not valid JSON"],
    ["\ufeff{}", "not valid JSON"],
    ["[]", "must be a JSON object"],
    ["null", "must be a JSON object"],
    ['"text"', "must be a JSON object"],
    ["7", "must be a JSON object"],
  ])("refuses %j: %s", (text, words) => {
    const { code, message } = refused(text);
    expect(code).toBe("invalid_request");
    expect(message).toContain(words);
  });

  it("says nothing of an early end where there is none", () => {
    expect(refused('{"a":undefined}').message).not.toContain("early");
  });

  it("never quotes the body", () => {
    expect(refused('{"key":sk-secret-secret}').message).not.toContain("sk-secret");
  });

  it.each([
    ["a lone continuation byte", Buffer.from([0x7b, 0x22, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
    ["an overlong form", Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d])],
    [
      "a character cut short",
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xf0, 0x9f, 0x98]), Buffer.from('"}')]),
    ],
    ["a surrogate", Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')])],
    ["UTF-16", Buffer.from('{"a":"é"}', "utf16le").fill(0xff, 0, 1)],
  ])("refuses %s", (_name, bytes) => {
    expect(refused(bytes).message).toContain("not valid UTF-8");
  });

  describe("with a prototype key", () => {
    it.each([
      ['{"__proto__":{"admin":true}}', "__proto__"],
      ['{"\\u005f_proto__":1}', "__proto__"],
      ['{"constructor":{"prototype":{"admin":true}}}', "constructor"],
      ['{"prototype":1}', "prototype"],
      ['{"a":[{"b":{"__proto__" : {"admin":true}}}]}', "__proto__"],
      ['{"a":{"\\u005f\\u005fproto__":{"polluted":1}}}', "__proto__"],
      ['{"a":{"__pr\\u006Fto__":{"polluted":1}}}', "__proto__"],
    ])("refuses %s, naming it", (text, param) => {
      expect(refused(text)).toMatchObject({ code: "invalid_request", param });
    });

    it.each([
      '{"content":"__proto__"}',
      '{"content":"{\\"__proto__\\": 1}"}',
      '{"list":["__proto__","a"]}',
      '{"tools":[{"parameters":{"properties":{"constructor":{"type":"string"},"prototype":{}}}}]}',
    ])("takes the word where it is only a word: %s", (text) => {
      expect(JSON.stringify(parseJsonObject(Buffer.from(text), JSON_TYPE))).toBe(text);
    });
  });

  it("answers a million brackets, closed or not, without falling over", () => {
    const many = LIMITS.jsonValuesMax - 1;
    for (const closing of ["", "]".repeat(1_000_000)])
      expect(refused(`{"a":${"[".repeat(1_000_000)}${closing}}`).code).toBe("invalid_request");
    const deep = `{"a":${"[".repeat(many)}${"]".repeat(many)}}`;
    expect(parseJsonObject(Buffer.from(deep), JSON_TYPE)).toHaveProperty("a");
  });

  it.each([
    ["commas", (count: number) => `{"a":[${"1,".repeat(count - 3)}1]}`],
    ["objects", (count: number) => `{"a":[${"{},".repeat(count / 2 - 2)}{}]}`],
    ["members", (count: number) => `{"a":{${'"b":1,'.repeat(count - 3)}"b":1}}`],
  ])("holds %s to a number", (_what, build) => {
    const { jsonValuesMax } = LIMITS;
    expect(parseJsonObject(Buffer.from(build(jsonValuesMax)), JSON_TYPE)).toHaveProperty("a");
    expect(refused(build(jsonValuesMax + 10)).message).toContain(`more than ${jsonValuesMax} values`);
    // Words are no values, whatever stands in them.
    const words = JSON.stringify({ a: `${build(jsonValuesMax + 10)}\\"[[` });
    expect(JSON.stringify(parseJsonObject(Buffer.from(words), JSON_TYPE))).toBe(words);
  });
});
