import { expect, test } from "vitest";
import { gemini, generated, streamed } from "../../test/gemini.ts";
import { type Loose, simulate } from "../../test/kit.ts";

const ask = { role: "user", parts: [{ text: "hi" }] };
const call = (name: string, more: object = {}): object => ({ functionCall: { name, args: {} }, ...more });
const result = (name: string): object => ({ functionResponse: { name, response: { output: "12" } } });
const user = (...parts: object[]): object => ({ role: "user", parts });
const model = (...parts: object[]): object => ({ role: "model", parts });
const config = (generationConfig: object): object => ({ generationConfig });
const declared = (parameters: object): object => ({ tools: [{ functionDeclarations: [{ name: "f", parameters }] }] });
const tools = [{ functionDeclarations: [{ name: "f" }] }];

test.for<[string, object]>([
  ['Unknown name "stream": Cannot find field.', { stream: true }],
  [`Unknown name "max_tokens" at 'generation_config': Cannot find field.`, config({ max_tokens: 5 })],
  [`Unknown name "image_url" at 'contents[0].parts[0]': Cannot find field.`, { contents: [user({ image_url: "x" })] }],
  ["contents is not specified", { contents: undefined }],
  ["contents.parts must not be empty", { contents: [user()] }],
  ["required oneof field 'data' must have one initialized field", { contents: [user({})] }],
  ["Please use a valid role: user, model.", { contents: [{ role: "assistant", parts: [{ text: "x" }] }] }],
  ["Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5", { contents: [user({ text: 5 })] }],
  ["function response turn comes immediately after a function call turn", { contents: [ask, user(result("f"))] }],
  ["function call turn comes immediately after a user turn", { contents: [model(call("f"))] }],
  [
    "number of function response parts is equal to the number of function call parts",
    { contents: [ask, model(call("f"), call("g")), user(result("f"))] },
  ],
  ["number of function response parts is equal", { contents: [ask, model(call("f")), ask] }],
  ["answer the functions called: g was not", { contents: [ask, model(call("f")), user(result("g"))] }],
  [
    "function_response.response' (type.googleapis.com/google.protobuf.Struct)",
    { contents: [ask, model(call("f")), user({ functionResponse: { name: "f", response: "12" } })] },
  ],
  [
    "Corrupted thought signature.",
    { contents: [ask, model(call("f", { thoughtSignature: "c2ln" })), user(result("f"))] },
  ],
  [
    "Function calling with a response mime type: 'application/json' is unsupported",
    { tools, ...config({ responseMimeType: "application/json" }) },
  ],
  ["response_schema is only supported when", config({ responseSchema: { type: "OBJECT" } })],
  [
    `Unknown name "additionalProperties" at 'tools[0].function_declarations[0].parameters'`,
    declared({ type: "OBJECT", additionalProperties: false }),
  ],
  [
    `Unknown name "$ref" at 'tools[0].function_declarations[0].parameters.properties[a]'`,
    declared({ type: "OBJECT", properties: { a: { $ref: "#/x" } } }),
  ],
  [
    "Proto field is not repeating, cannot start list",
    declared({ type: "OBJECT", properties: { a: { type: ["STRING", "NULL"] } } }),
  ],
  ["properties[a].items: missing field", declared({ type: "OBJECT", properties: { a: { type: "ARRAY" } } })],
  [
    "required[0]: property is not defined",
    declared({ type: "OBJECT", properties: { a: { type: "STRING" } }, required: ["b"] }),
  ],
  [
    "enum: only allowed for STRING type",
    declared({ type: "OBJECT", properties: { a: { type: "INTEGER", enum: ["1"] } } }),
  ],
  ["Invalid function name", { tools: [{ functionDeclarations: [{ name: "1 f" }] }] }],
  ["Duplicate function declaration found: f", { tools: [tools[0], tools[0]] }],
  [
    "mode to ANY or VALIDATED when allowed_function_names is set",
    { tools, toolConfig: { functionCallingConfig: { mode: "AUTO", allowedFunctionNames: ["f"] } } },
  ],
  [
    "Invalid value at 'tool_config.function_calling_config.mode'",
    { tools, toolConfig: { functionCallingConfig: { mode: "auto" } } },
  ],
  ["at most 5 stop sequences", config({ stopSequences: ["a", "b", "c", "d", "e", "f"] })],
  ["temperature must be in the range", config({ temperature: 3 })],
  ["Invalid value at 'generation_config.temperature' (TYPE_FLOAT)", config({ temperature: "hot" })],
  [
    "only one of thinking budget and thinking level",
    config({ thinkingConfig: { thinkingBudget: 5, thinkingLevel: "LOW" } }),
  ],
  [
    "Unsupported MIME type: application/x-odd",
    { contents: [user({ inlineData: { mimeType: "application/x-odd", data: "AAAA" } })] },
  ],
  ["Base64 decoding failed", { contents: [user({ inlineData: { mimeType: "image/png", data: "@@@" } })] }],
  [
    "CachedContent can not be used with",
    { cachedContent: "cachedContents/a", systemInstruction: { parts: [{ text: "x" }] } },
  ],
])("refuses: %s", async ([message, extra]) => {
  const response = await gemini(await simulate(), "echo", "generateContent", extra);
  const { error }: Loose = await response.json();
  expect([response.status, error.code, error.status]).toEqual([400, 400, "INVALID_ARGUMENT"]);
  expect(error.message).toContain(message);
});

test("models of the third generation want the signature of a call back, and mix functions with JSON", async () => {
  const simulator = await simulate();
  const asked = async (name: string, part: object): Promise<number> => {
    const contents = [ask, model(part), user(result("f"))];
    return (await gemini(simulator, name, "generateContent", { contents, tools })).status;
  };
  const first = await generated(simulator, "gemini-3-pro?as=tool", { tools });
  const [signed] = first.candidates[0].content.parts;
  expect(await asked("gemini-3-pro", signed)).toBe(200);
  expect(await asked("gemini-3-pro", call("f"))).toBe(400);
  expect(await asked("gemini-3-pro", call("f", { thoughtSignature: "skip_thought_signature_validator" }))).toBe(200);
  expect(await asked("gemini-2.5-pro", call("f"))).toBe(200);
  expect(await asked("echo?quirk=gemini_3", call("f"))).toBe(400);
  const json = { tools, ...config({ responseMimeType: "application/json" }) };
  expect((await gemini(simulator, "gemini-3-pro", "generateContent", json)).status).toBe(200);
  // A call of an earlier turn needs none.
  const contents = [ask, model(call("f")), user(result("f")), model({ text: "so" }), ask];
  expect((await gemini(simulator, "gemini-3-pro", "generateContent", { contents, tools })).status).toBe(200);
});

test("keys: in the header or the query; a bad one is a bad argument, none is forbidden, a token is no key", async () => {
  const simulator = await simulate();
  const asked = async (query: string, headers: Record<string, string>): Promise<Loose> =>
    (await gemini(simulator, "echo", `generateContent${query}`, {}, headers)).json();
  expect((await asked("?key=k", {})).candidates).toHaveLength(1);
  const { error } = await asked("?key=bad-key", {});
  expect(error).toMatchObject({ code: 400, status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }, {}] });
  expect((await asked("", {})).error).toMatchObject({ code: 403, status: "PERMISSION_DENIED" });
  expect((await asked("", { authorization: "Bearer k" })).error).toMatchObject({
    code: 401,
    status: "UNAUTHENTICATED",
  });
});

test("quotas and retry hints stand in the details, not in headers", async () => {
  const simulator = await simulate();
  const response = await gemini(simulator, "error?status=429&retry_after_ms=34400", "generateContent");
  expect(response.headers.get("retry-after-ms")).toBeNull();
  const { error }: Loose = await response.json();
  expect(error).toMatchObject({ code: 429, status: "RESOURCE_EXHAUSTED" });
  expect(error.details.map((detail: Loose) => detail.retryDelay ?? detail.violations[0].quotaId)).toEqual([
    expect.stringContaining("PerMinute"),
    "34.4s",
  ]);
  const quota = await generated(simulator, "quota");
  expect(quota.error.details[0].violations[0].quotaId).toContain("PerDay");
  const limited = await generated(simulator, "echo?tpm=0");
  expect(limited.error.details.map((detail: Loose) => detail.retryDelay ?? detail.violations[0].quotaId)).toEqual([
    expect.stringContaining("InputTokens"),
    "60s",
  ]);
});

test("a refused stream is an array where the stream would be one, and keeps the type of a stream", async () => {
  const simulator = await simulate();
  const array: Loose = await (await gemini(simulator, "missing", "streamGenerateContent")).json();
  expect(array[0].error).toMatchObject({
    code: 404,
    status: "NOT_FOUND",
    message: expect.stringContaining("models/missing"),
  });
  const sse = await gemini(simulator, "error?status=503", "streamGenerateContent?alt=sse");
  expect([sse.status, sse.headers.get("content-type")]).toEqual([503, "text/event-stream"]);
  expect(((await sse.json()) as Loose).error.status).toBe("UNAVAILABLE");
  expect(await streamed(simulator, "errorafter?after=1&status=500")).toMatchObject([
    { candidates: [{}] },
    { error: { code: 500, status: "INTERNAL" } },
  ]);
});

test("an unknown method is no method of a model", async () => {
  const response = await gemini(await simulate(), "echo", "predict");
  expect(response.status).toBe(404);
  expect(((await response.json()) as Loose).error.status).toBe("NOT_FOUND");
});
