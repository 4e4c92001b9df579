import { expect, test } from "vitest";
import { streamed } from "../../test/gemini.ts";
import { simulate } from "../../test/kit.ts";
import { partialCalls } from "./partial-args.ts";

test("every value comes at its path, a string in fragments that an empty one closes", () => {
  const text = JSON.stringify({ a: { b: [1, true, null] }, s: "twelve chars and more" });
  const steps = partialCalls(text).flatMap((call) => JSON.parse(call).partialArgs);
  expect(steps).toEqual([
    { jsonPath: "$.a.b[0]", numberValue: 1 },
    { jsonPath: "$.a.b[1]", boolValue: true },
    { jsonPath: "$.a.b[2]", nullValue: "NULL_VALUE" },
    { jsonPath: "$.s", stringValue: "twelve chars", willContinue: true },
    { jsonPath: "$.s", stringValue: " and more", willContinue: true },
    { jsonPath: "$.s", stringValue: "" },
  ]);
});

test("a request may ask for arguments in pieces: a name first, an empty call last", async () => {
  const parameters = { type: "OBJECT", properties: { city: { type: "STRING" } }, required: ["city"] };
  const chunks = await streamed(await simulate(), "tool", {
    tools: [{ functionDeclarations: [{ name: "weather", parameters }] }],
    toolConfig: { functionCallingConfig: { mode: "AUTO", streamFunctionCallArguments: true } },
  });
  const calls = chunks.flatMap((chunk) => chunk.candidates[0].content.parts[0].functionCall ?? []);
  expect(calls[0]).toEqual({ name: "weather", willContinue: true });
  expect(calls.at(-1)).toEqual({});
  expect(calls.flatMap((call) => call.partialArgs?.[0].stringValue ?? []).join("")).toBe("sample");
  expect(chunks.at(-1).candidates[0].finishReason).toBe("STOP");
});
