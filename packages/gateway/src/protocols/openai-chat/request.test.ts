import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../test/support/thrown.ts";
import type { Call } from "../../core/call.ts";
import { LIMITS } from "../../core/limits.ts";
import { inOnePiece } from "../../core/pieces.ts";
import type { Quirks } from "../protocol.ts";
import { decodeRequest, passRequest } from "./request.ts";

const PLAIN: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };
const HI = [{ role: "user", content: "hi" }];

function decode(body: string | Record<string, unknown>, headers: Record<string, string> = {}): Call {
  const raw = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return decodeRequest({
    raw,
    header: (name) => ({ "content-type": "application/json", ...headers })[name],
    path: { query: "" },
  });
}

const asked = (extra: Record<string, unknown> = {}): Call => decode({ model: "default", messages: HI, ...extra });
const refused = (extra: Record<string, unknown>) => refusalOf(() => asked(extra));
const sent = (call: Call, quirks: Partial<Quirks> = {}, model = "gpt"): string =>
  inOnePiece(passRequest(call, { model, quirks: { ...PLAIN, ...quirks }, maxOutputTokens: null })).toString();

describe("decodeRequest", () => {
  it("reads what routing, money and the ledger need", () => {
    const call = asked({ stream: true, max_tokens: 50, n: 2, stream_options: { include_usage: true }, user: "u1" });
    expect(call).toMatchObject({
      dialect: "openai-chat",
      operation: "chat",
      alias: "default",
      stream: true,
      maxOutputTokens: 50,
      choices: 2,
      showsUsage: true,
      holdsToolResults: false,
      reasons: false,
      platform: { user: "u1" },
    });
    expect(asked()).toMatchObject({
      stream: false,
      maxOutputTokens: null,
      choices: 1,
      showsUsage: false,
      platform: {},
    });
  });

  describe("refuses a field of the wrong type by its path", () => {
    it.each<[string, Record<string, unknown>]>([
      ["model", { model: undefined }],
      ["model", { model: null }],
      ["model", { model: 4 }],
      ["model", { model: " " }],
      ["model", { model: "m".repeat(513) }],
      ["stream", { stream: "yes" }],
      ["stream", { stream: 1 }],
      ["stream_options", { stream_options: [] }],
      ["stream_options", { stream_options: "include_usage" }],
      ["stream_options.include_usage", { stream_options: { include_usage: "true" } }],
      ["temperature", { temperature: "hot" }],
      ["top_p", { top_p: true }],
      ["frequency_penalty", { frequency_penalty: {} }],
      ["presence_penalty", { presence_penalty: [] }],
      ["top_logprobs", { top_logprobs: 1.5 }],
      ["seed", { seed: "7" }],
      ["n", { n: 1.5 }],
      ["n", { n: "2" }],
      ["max_tokens", { max_tokens: "many" }],
      ["max_tokens", { max_tokens: 1.5 }],
      ["max_tokens", { max_completion_tokens: 10, max_tokens: "many" }],
      ["max_completion_tokens", { max_completion_tokens: {} }],
      ["parallel_tool_calls", { parallel_tool_calls: "no" }],
      ["stop", { stop: 7 }],
      ["stop", { stop: ["a", 7] }],
      ["response_format", { response_format: "json" }],
      ["response_format", { response_format: {} }],
      ["response_format.json_schema", { response_format: { type: "json_schema" } }],
      ["tools", { tools: {} }],
      ["tools[1]", { tools: [{ type: "custom" }, "f"] }],
      ["tools[0].function", { tools: [{ type: "function" }] }],
      ["tools[0].function.name", { tools: [{ type: "function", function: {} }] }],
      ["tools[0].function.name", { tools: [{ type: "function", function: { name: "" } }] }],
      ["gateway", { gateway: "fast" }],
      ["gateway.task_class", { gateway: { task_class: 1 } }],
      ["gateway.tenant", { gateway: { tenant: "other" } }],
    ])("%s in %j", (param, extra) => {
      const refusal = refused(extra);
      expect(refusal).toMatchObject({ code: "invalid_request", param });
      expect(refusal.message).toContain(param);
    });
  });

  it("takes null for absent, and values that only the model's maker may judge", () => {
    const nothing = [
      "stream",
      "stream_options",
      "temperature",
      "stop",
      "tools",
      "n",
      "max_tokens",
      "response_format",
      "seed",
      "gateway",
      "user",
    ];
    expect(() => asked(Object.fromEntries(nothing.map((key) => [key, null])))).not.toThrow();
    expect(() => asked({ stop: "END" })).not.toThrow();
    expect(() => asked({ stop: ["a", "b"] })).not.toThrow();
    expect(() =>
      asked({ temperature: 99, top_p: -1, n: 0, stop: [], reasoning_effort: "extreme", tools: [] }),
    ).not.toThrow();
    expect(asked({ n: 0 }).choices).toBe(1);
  });

  it.each<[boolean, Record<string, unknown>]>([
    [false, {}],
    [false, { stream_options: {} }],
    [false, { stream_options: { include_usage: false } }],
    [true, { stream_options: { include_usage: true } }],
    [true, { usage: { include: true } }],
    [false, { usage: { include: false } }],
    [false, { usage: "include" }],
  ])("shows usage: %s for %j", (shows, extra) => {
    expect(asked({ stream: true, ...extra }).showsUsage).toBe(shows);
  });

  it("counts the newer of two output caps, and the older where it is alone", () => {
    expect(asked({ max_tokens: 5 }).maxOutputTokens).toBe(5);
    expect(asked({ max_completion_tokens: 6 }).maxOutputTokens).toBe(6);
    expect(asked({ max_tokens: 5, max_completion_tokens: 6 }).maxOutputTokens).toBe(6);
    expect(asked({ max_tokens: 5, max_completion_tokens: null }).maxOutputTokens).toBe(5);
  });

  it.each<[string[], Record<string, unknown>]>([
    [["tools"], { tools: [{ type: "function", function: { name: "f" } }] }],
    [["tools"], { functions: [{ name: "f" }] }],
    [[], { tools: [] }],
    [["json_schema"], { response_format: { type: "json_schema", json_schema: { name: "a" } } }],
    [[], { response_format: { type: "json_object" } }],
    [["logprobs"], { logprobs: true }],
    [["n"], { n: 2 }],
    [[], { n: 1, logprobs: false }],
  ])("needs %j for %j", (needs, extra) => {
    expect([...asked(extra).needs]).toEqual(needs);
  });

  it.each<[boolean, Record<string, unknown>]>([
    [true, { reasoning_effort: "high" }],
    [false, { reasoning_effort: "none" }],
    [false, { reasoning_effort: null }],
    [true, { reasoning: { effort: "low" } }],
    [false, { reasoning: { effort: "none" } }],
    [false, { reasoning: { enabled: false } }],
    [true, { thinking: { type: "enabled", budget_tokens: 1_000 } }],
    [false, { thinking: { type: "disabled" } }],
  ])("reasons: %s for %j", (reasons, extra) => {
    expect(asked(extra).reasons).toBe(reasons);
  });

  it("knows the user from gateway, else `user`, else `safety_identifier`, clipped", () => {
    expect(asked({ user: "a", safety_identifier: "b", gateway: { user: "c" } }).platform.user).toBe("c");
    expect(asked({ user: "a", safety_identifier: "b" }).platform.user).toBe("a");
    expect(asked({ user: null, safety_identifier: "b" }).platform.user).toBe("b");
    expect(asked({ user: "" }).platform.user).toBeUndefined();
    expect(asked({ user: "x".repeat(1_000) }).platform.user).toHaveLength(LIMITS.labelCharsMax);
  });

  it("estimates the input from the text, not from the images, and never as nothing", () => {
    const text = asked({ messages: [{ role: "user", content: "x".repeat(4_000) }] }).inputTokensEstimate;
    expect(text).toBeGreaterThan(990);
    expect(text).toBeLessThan(1_100);
    const data = `data:image/png;base64,${"A".repeat(400_000)}`;
    const image = asked({ messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: data } }] }] });
    expect(image.inputTokensEstimate).toBeLessThan(100);
    expect(image.inputTokensEstimate).toBeGreaterThanOrEqual(1);
  });

  it("refuses a body nested too deep, wherever", () => {
    const deep = `${"[".repeat(200)}${"]".repeat(200)}`;
    expect(refusalOf(() => decode(`{"model":"m","messages":[],"metadata":${deep}}`)).message).toContain("nests deeper");
  });

  it.each(["__proto__", "constructor", "prototype"])("refuses %s as a field", (key) => {
    expect(refusalOf(() => decode(`{"model":"m","messages":[],${JSON.stringify(key)}:{"x":1}}`))).toMatchObject({
      param: key,
    });
  });
});

describe("passRequest", () => {
  const spaced = `{ "model" : "default",
    "temperature": 1.0, "seed": 12345678901234567890, "top_p":1e-1, "messages" : [ { "role":"user","content":"\\u00e9\\/" , "x":1.50 } ],
    "unknown": { "b" : 2.00, "a":[1E5 , -0] } }`;

  it("changes the model and nothing else", () => {
    expect(sent(decode(spaced), {}, 'my"model')).toBe(spaced.replace('"default"', '"my\\"model"'));
  });

  it("keeps every byte of the fields it does not know, whatever they are and wherever they stand", () => {
    const field = fc.tuple(
      fc.string({ unit: "grapheme", minLength: 1 }).map((name) => `x${name}`),
      fc.constantFrom(
        "1.0",
        "1e5",
        "9007199254740993",
        "-0.0",
        '"\\u0041"',
        "[ 1.00 , {} ]",
        '{ "z":1.0, "a" : 2 }',
        "null",
      ),
    );
    fc.assert(
      fc.property(fc.array(field), fc.array(field), fc.boolean(), (before, after, stream) => {
        const texts = (list: [string, string][]): string =>
          list.map(([name, value]) => `${JSON.stringify(name)} : ${value},`).join("");
        const body = (model: string, tail: string): string =>
          `{${texts(before)}"model":"${model}",${texts(after)}"messages":[{"role":"user","content":"hi"}],"stream":${stream}${tail}}`;
        expect(sent(decode(body("default", "")))).toBe(
          body("gpt", stream ? ',"stream_options":{"include_usage":true}' : ""),
        );
      }),
    );
  });

  it("takes out everything of the gateway's own, and nothing else", () => {
    const call = asked({
      gateway: { task_class: "x", tags: { a: "b" } },
      session_id: "s",
      cache_policy: "bypass",
      hedge: false,
      user: "u",
      metadata: { session_id: "kept" },
    });
    const body = JSON.parse(sent(call)) as Record<string, unknown>;
    expect(body).toEqual({ model: "gpt", messages: HI, user: "u", metadata: { session_id: "kept" } });
  });

  it("takes out a repeated or escaped member of its own too", () => {
    const call = decode(
      '{"gateway":{},"model":"a","session_id":"x","gatew\\u0061y":{"user":"u"},"messages":[{"role":"user","content":"hi"}],"model":"default","session_id":"y"}',
    );
    expect(call.platform).toEqual({ user: "u", session_id: "y" });
    expect(call.alias).toBe("default");
    expect(sent(call)).toBe('{"model":"gpt","messages":[{"role":"user","content":"hi"}],"model":"gpt"}');
  });

  it("invents no key the client did not send", () => {
    expect(Object.keys(JSON.parse(sent(asked())) as object)).toEqual(["model", "messages"]);
  });

  it("is the same whatever an attempt before it asked for", () => {
    const call = asked({ stream: true, max_tokens: 5, stream_options: { include_usage: false } });
    const first = sent(call);
    sent(call, { maxTokensField: "max_completion_tokens", streamOptions: false }, "other");
    expect(sent(call)).toBe(first);
  });

  describe("asks for usage on a stream exactly once", () => {
    it.each([
      ['"stream":true', '"stream":true,"stream_options":{"include_usage":true}'],
      ['"stream":true,"stream_options":null', '"stream":true,"stream_options":{"include_usage":true}'],
      ['"stream":true,"stream_options":{}', '"stream":true,"stream_options":{"include_usage":true}'],
      [
        '"stream":true,"stream_options":{"include_usage":true}',
        '"stream":true,"stream_options":{"include_usage":true}',
      ],
      [
        '"stream":true,"stream_options":{"include_usage":false}',
        '"stream":true,"stream_options":{"include_usage":true}',
      ],
      [
        '"stream":true,"stream_options":{"include_usage":null}',
        '"stream":true,"stream_options":{"include_usage":true}',
      ],
      [
        '"stream_options":{ "include_obfuscation" : false, "x": 1.0 },"stream":true',
        '"stream_options":{ "include_obfuscation" : false, "x": 1.0,"include_usage":true },"stream":true',
      ],
      [
        '"stream_options":{"x":1.0,"include_usage": false ,"y":1e5},"stream":true',
        '"stream_options":{"x":1.0,"include_usage": true ,"y":1e5},"stream":true',
      ],
      [
        '"stream_options":{"include_usage":true},"stream":true,"stream_options":{"x":1.0}',
        '"stream_options":{"x":1.0,"include_usage":true},"stream":true,"stream_options":{"x":1.0,"include_usage":true}',
      ],
      ['"stream":false', '"stream":false'],
      ['"stream":false,"stream_options":{}', '"stream":false,"stream_options":{}'],
    ])("%s → %s", (given, expected) => {
      const body = (model: string, members: string): string =>
        `{"model":"${model}","messages":[{"role":"user","content":"hi"}],${members}}`;
      expect(sent(decode(body("default", given)))).toBe(body("gpt", expected));
    });

    it.each([{}, { stream_options: { include_usage: true } }, { stream_options: null }])(
      "and not at all of an upstream that does not take it: %j",
      (extra) => {
        expect(sent(asked({ stream: true, ...extra }), { streamOptions: false })).not.toContain("stream_options");
      },
    );
  });

  describe("spells the output cap as the upstream takes it", () => {
    it.each([
      ["max_tokens", '"max_completion_tokens":5', '"max_tokens":5'],
      ["max_tokens", '"max_tokens":5', '"max_tokens":5'],
      ["max_completion_tokens", '"max_tokens":5', '"max_completion_tokens":5'],
      ["max_completion_tokens", '"max_tokens": 5,"max_completion_tokens":null', '"max_completion_tokens": 5'],
      ["max_tokens", '"max_tokens":null,"max_completion_tokens":5', '"max_tokens":5'],
      // Both: the one that was counted, and so reserved, is the one that is sent.
      ["max_tokens", '"max_tokens":9,"max_completion_tokens":5', '"max_tokens":5'],
      ["max_completion_tokens", '"max_tokens":9,"max_completion_tokens":5', '"max_completion_tokens":5'],
      [
        "max_tokens",
        '"max_tokens":null,"max_completion_tokens":null',
        '"max_tokens":null,"max_completion_tokens":null',
      ],
      [null, '"max_tokens":9,"max_completion_tokens":5', '"max_tokens":9,"max_completion_tokens":5'],
    ] as const)("%s: %s → %s", (maxTokensField, given, expected) => {
      const body = (model: string, members: string): string =>
        `{"model":"${model}","messages":[{"role":"user","content":"hi"}],${members}}`;
      const call = decode(body("default", given));
      expect(sent(call, { maxTokensField })).toBe(body("gpt", expected));
      if (call.maxOutputTokens !== null) expect(expected).toContain(`${call.maxOutputTokens}`);
    });
  });
});
