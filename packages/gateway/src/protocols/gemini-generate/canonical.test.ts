import { describe, expect, it } from "vitest";
import { geminiCall } from "../../../test/support/gemini-calls.ts";
import { refusalOf } from "../../../test/support/thrown.ts";
import { toCanonical } from "./canonical.ts";

const text = (words: string): object => ({ parts: [{ text: words }], role: "user" });
const read = (body: object): ReturnType<typeof toCanonical> =>
  toCanonical(geminiCall({ contents: [text("hi")], ...body }));

describe("a Gemini body in canonical form", () => {
  it("has the system instruction as a message, however it is given", () => {
    for (const systemInstruction of [{ parts: [{ text: "be brief" }] }, "be brief", [{ text: "be brief" }]]) {
      expect(read({ systemInstruction }).messages[0]).toEqual({
        role: "system",
        blocks: [{ type: "text", text: "be brief" }],
      });
    }
    expect(read({ system_instruction: { parts: [{ text: "a" }, { text: "b" }] } }).messages[0]?.blocks).toHaveLength(2);
    const { foreign } = read({ systemInstruction: { parts: [{ text: "a" }, { inlineData: {} }] } });
    expect(foreign).toEqual([{ path: "systemInstruction.parts[1]", meaning: true }]);
  });

  it("takes results out of a user's turn and matches them by order and name where nobody gave ids", () => {
    const { messages } = toCanonical(
      geminiCall({
        contents: [
          text("go"),
          {
            role: "model",
            parts: [
              { functionCall: { name: "f", args: { n: 1 } }, thoughtSignature: "c2ln" },
              { functionCall: { name: "g", args: {} } },
              { functionCall: { name: "f", args: { n: 2 } } },
            ],
          },
          {
            role: "user",
            parts: [
              { functionResponse: { name: "f", response: { output: "one" } } },
              { functionResponse: { name: "f", response: { error: "two" } } },
              { functionResponse: { name: "g", response: { a: 1, b: 2 } } },
              { text: "and now?" },
            ],
          },
        ],
      }),
    );
    const [first, other, second] = messages[1]?.blocks ?? [];
    if (first?.type !== "tool_call" || other?.type !== "tool_call" || second?.type !== "tool_call") throw new Error();
    expect(new Set([first.id, other.id, second.id]).size).toBe(3);
    expect(first.signature).toEqual({ dialect: "gemini-generate", value: "c2ln" });
    expect(messages[2]).toEqual({
      role: "tool",
      blocks: [
        { type: "tool_result", callId: first.id, name: "f", content: [{ type: "text", text: "one" }], isError: false },
        { type: "tool_result", callId: second.id, name: "f", content: [{ type: "text", text: "two" }], isError: true },
        {
          type: "tool_result",
          callId: other.id,
          name: "g",
          content: [{ type: "text", text: '{"a":1,"b":2}' }],
          isError: false,
        },
      ],
    });
    expect(messages[3]).toEqual({ role: "user", blocks: [{ type: "text", text: "and now?" }] });
  });

  it("gives the same ids to the same history, and others to the next turn's calls", () => {
    const turn = { role: "model", parts: [{ functionCall: { name: "f" } }] };
    const answer = { role: "function", parts: [{ functionResponse: { name: "f", response: {} } }] };
    const ids = (contents: object[]): string[] =>
      toCanonical(geminiCall({ contents })).messages.flatMap((message) =>
        message.blocks.flatMap((block) => (block.type === "tool_call" ? [block.id] : [])),
      );
    const short = ids([text("go"), turn, answer]);
    const long = ids([text("go"), turn, answer, turn, answer]);
    expect(long[0]).toBe(short[0]);
    expect(long[1]).not.toBe(long[0]);
  });

  it("names the response that answers no call", () => {
    const body = {
      contents: [text("hi"), { role: "user", parts: [{ functionResponse: { name: "lost", response: {} } }] }],
    };
    const error = refusalOf(() => toCanonical(geminiCall(body)));
    expect(error).toMatchObject({ code: "invalid_request" });
    expect(error.message).toMatch(/contents\[1\]\.parts\[0\]\.functionResponse "lost" answers no functionCall/);
  });

  it("joins streamed thoughts up to their signature", () => {
    const { messages } = toCanonical(
      geminiCall({
        contents: [
          text("hi"),
          {
            role: "model",
            parts: [
              { text: "Let me ", thought: true },
              { text: "see.", thought: true },
              { text: "", thought: true, thoughtSignature: "c2ln" },
              { text: "Yes." },
              { text: "", thoughtSignature: "c2lnMg==" },
            ],
          },
        ],
      }),
    );
    expect(messages[1]?.blocks).toEqual([
      { type: "reasoning", text: "Let me see.", signature: { dialect: "gemini-generate", value: "c2ln" } },
      { type: "text", text: "Yes." },
      { type: "reasoning", text: "", signature: { dialect: "gemini-generate", value: "c2lnMg==" } },
    ]);
  });

  it("gives a thought back what only its maker can read of it, whether that came with the last words or behind them", () => {
    const sealed = Buffer.from("sg1.openai-responses.encrypted.gAA").toString("base64");
    const signed = { thought: true, thoughtSignature: sealed };
    const pieces = [
      [
        { text: "Hm", thought: true },
        { text: ".", ...signed },
      ],
      [
        { text: "Hm.", thought: true },
        { text: "", ...signed },
      ],
    ];
    for (const parts of pieces) {
      const { messages } = toCanonical(geminiCall({ contents: [text("hi"), { role: "model", parts }] }));
      expect(messages[1]?.blocks).toEqual([
        { type: "reasoning", text: "Hm.", encrypted: { dialect: "openai-responses", value: "gAA" } },
      ]);
    }
  });

  it("reads an answer that an SDK's chat kept in the pieces of its stream as the one turn it was", () => {
    const piece = (...parts: object[]): object => ({ role: "model", parts });
    const { messages } = toCanonical(
      geminiCall({
        contents: [
          text("hi"),
          piece({ text: "Let me ", thought: true }),
          piece({ text: "see.", thought: true }, { text: "", thought: true, thoughtSignature: "c2ln" }),
          piece({ text: "On" }),
          piece({ text: "e" }, { text: " and" }),
          piece({ functionCall: { name: "f" } }),
          piece({ functionCall: { name: "f" } }),
          { role: "user", parts: [1, 2].map((output) => ({ functionResponse: { name: "f", response: { output } } })) },
        ],
      }),
    );
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(messages[1]?.blocks).toMatchObject([
      { type: "reasoning", text: "Let me see.", signature: { value: "c2ln" } },
      { type: "text", text: "One" },
      { type: "text", text: " and" },
      { type: "tool_call", name: "f" },
      { type: "tool_call", name: "f" },
    ]);
    const ids = messages[1]?.blocks.flatMap((block) => (block.type === "tool_call" ? [block.id] : []));
    expect(new Set(ids).size).toBe(2);
    expect(messages[2]?.blocks.map((block) => block.type === "tool_result" && block.callId)).toEqual(ids);
  });

  it("reads pictures, documents, sounds and files, and keeps what only Google can show", () => {
    const parts = [
      { inlineData: { mimeType: "image/png", data: "aWNv" } },
      { inline_data: { mime_type: "application/pdf", data: "cGRm" } },
      { inlineData: { mimeType: "audio/wav", data: "d2F2" } },
      { fileData: { fileUri: "https://example.com/a.png" } },
      { fileData: { mimeType: "image/png", fileUri: "gs://bucket/a" } },
      { fileData: { fileUri: "https://youtu.be/x" } },
      { inlineData: { mimeType: "video/mp4", data: "bXA0" } },
    ];
    const { messages } = toCanonical(geminiCall({ contents: [{ parts }] }));
    expect(messages[0]?.blocks).toEqual([
      { type: "image", source: { kind: "base64", data: "aWNv", mediaType: "image/png" } },
      { type: "document", source: { kind: "base64", data: "cGRm", mediaType: "application/pdf" } },
      { type: "audio", source: { kind: "base64", data: "d2F2", mediaType: "audio/wav" } },
      { type: "image", source: { kind: "url", url: "https://example.com/a.png", mediaType: null } },
      { type: "image", source: { kind: "file", id: "image/png;gs://bucket/a", dialect: "gemini-generate" } },
      { type: "opaque", dialect: "gemini-generate", path: "contents[0].parts[5]", value: parts[5] },
      { type: "opaque", dialect: "gemini-generate", path: "contents[0].parts[6]", value: parts[6] },
    ]);
  });

  it("reads OpenAPI schemas as JSON Schema, in both spellings", () => {
    const parameters = {
      type: "OBJECT",
      properties: {
        property_ordering: { type: "STRING", nullable: true, enum: ["a", "b"] },
        list: { type: "ARRAY", items: { any_of: [{ type: "INTEGER" }, { type: "NUMBER" }] }, minItems: "2" },
      },
      propertyOrdering: ["list", "property_ordering"],
      required: ["list"],
    };
    const { tools } = read({ tools: [{ function_declarations: [{ name: "f", parameters }] }] });
    expect(tools).toEqual([
      {
        type: "function",
        name: "f",
        parameters: {
          type: "object",
          properties: {
            property_ordering: { type: ["string", "null"], enum: ["a", "b", null] },
            list: { type: "array", items: { anyOf: [{ type: "integer" }, { type: "number" }] }, minItems: 2 },
          },
          required: ["list"],
        },
      },
    ]);
  });

  it.each([
    [{ mode: "AUTO" }, { type: "auto" }],
    [{ mode: 3 }, { type: "none" }],
    [{ mode: "any" }, { type: "required" }],
    [
      { mode: "ANY", allowedFunctionNames: ["f"] },
      { type: "named", name: "f" },
    ],
    [
      { mode: "ANY", allowed_function_names: ["f", "g"] },
      { type: "allowed", mode: "required", names: ["f", "g"] },
    ],
    [{ mode: "VALIDATED" }, { type: "auto" }],
    [
      { mode: "VALIDATED", allowedFunctionNames: ["f"] },
      { type: "allowed", mode: "auto", names: ["f"] },
    ],
    [{}, null],
  ])("reads the calling config %j", (functionCallingConfig, choice) => {
    expect(read({ toolConfig: { functionCallingConfig } }).toolChoice).toEqual(choice);
  });

  it("reads the generation config, in both spellings", () => {
    const config = {
      maxOutputTokens: 10,
      temperature: 0.5,
      top_p: 0.9,
      topK: 4,
      candidateCount: 2,
      stop_sequences: ["END"],
      seed: 7,
      presencePenalty: 0.1,
      frequency_penalty: 0.2,
      responseLogprobs: true,
      logprobs: 3,
      thinkingConfig: { thinkingBudget: -1, includeThoughts: true },
      responseModalities: ["TEXT"],
      mediaResolution: "MEDIA_RESOLUTION_LOW",
    };
    expect(read({ generation_config: config })).toMatchObject({
      maxOutputTokens: 10,
      temperature: 0.5,
      topP: 0.9,
      topK: 4,
      n: 2,
      stop: ["END"],
      seed: 7,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      logprobs: { top: 3 },
      reasoning: { effort: null, budgetTokens: null, visible: true },
      foreign: [{ path: "generation_config.mediaResolution", meaning: false }],
    });
  });

  it("takes a top_k that says what Gemini does anyway for the hint it is", () => {
    const { topK, foreign } = read({ generationConfig: { topK: 64, temperature: 1, topP: 0.95 } });
    expect(topK).toBeNull();
    expect(foreign).toEqual([{ path: "generationConfig.topK", meaning: false }]);
    expect(read({ generationConfig: { topK: 40 } })).toMatchObject({ topK: 40, foreign: [] });
  });

  it.each([
    [{ responseMimeType: "application/json" }, { type: "json_object" }],
    [
      { responseMimeType: "application/json", responseSchema: { type: "STRING" } },
      { type: "json_schema", name: "response", schema: { type: "string" } },
    ],
    [
      { responseMimeType: "application/json", responseJsonSchema: { type: "string", const: "a" } },
      { type: "json_schema", name: "response", schema: { type: "string", const: "a" } },
    ],
    [{ responseMimeType: "text/plain" }, null],
  ])("reads the response format %j", (generationConfig, format) => {
    expect(read({ generationConfig }).responseFormat).toEqual(format);
  });

  it("tells what has meaning and no place elsewhere from what only hints", () => {
    const { foreign, tools } = read({
      cachedContent: "cachedContents/1",
      safetySettings: [],
      labels: { a: "b" },
      somethingNew: 1,
      generationConfig: { responseModalities: ["TEXT", "IMAGE"], responseMimeType: "text/x.enum" },
      tools: [{ googleSearch: {} }],
    });
    expect(foreign.filter(({ meaning }) => meaning).map(({ path }) => path)).toEqual([
      "cachedContent",
      "generationConfig.responseModalities",
      "generationConfig.responseMimeType",
    ]);
    expect(foreign.filter(({ meaning }) => !meaning).map(({ path }) => path)).toEqual([
      "safetySettings",
      "labels",
      "somethingNew",
    ]);
    expect(tools).toEqual([
      { type: "hosted", dialect: "gemini-generate", path: "tools[0].googleSearch", value: { googleSearch: {} } },
    ]);
  });
});

describe("a Gemini body that makes no sense", () => {
  it.each([
    [{}, "contents"],
    [{ contents: [] }, "contents"],
    [{ contents: ["hi"] }, "contents[0]"],
    [{ contents: [{ role: 1 }] }, "contents[0].role"],
    [{ contents: [{ parts: ["hi"] }] }, "contents[0].parts[0]"],
    [{ contents: [{ parts: [{ text: 1 }] }] }, "contents[0].parts[0].text"],
    [{ contents: [{ parts: [{ functionCall: { args: {} } }] }] }, "contents[0].parts[0].functionCall.name"],
    [{ contents: [{ parts: [{ function_response: {} }] }] }, "contents[0].parts[0].function_response.name"],
    [{ contents: [{}], generationConfig: 1 }, "generationConfig"],
    [{ contents: [{}], generationConfig: { maxOutputTokens: "9" } }, "generationConfig.maxOutputTokens"],
    [{ contents: [{}], generation_config: { candidate_count: 1.5 } }, "generation_config.candidate_count"],
    [{ contents: [{}], generationConfig: { stopSequences: "x" } }, "generationConfig.stopSequences"],
    [{ contents: [{}], tools: ["x"] }, "tools[0]"],
    [{ contents: [{}], tools: [{ functionDeclarations: [{}] }] }, "tools[0].functionDeclarations[0].name"],
  ])("%j is refused by its path", (body, param) => {
    expect(refusalOf(() => geminiCall(body))).toMatchObject({ code: "invalid_request", param });
  });

  it("names half a picture", () => {
    const body = { contents: [{ parts: [{ inlineData: { mimeType: "image/png" } }] }] };
    expect(refusalOf(() => toCanonical(geminiCall(body)))).toMatchObject({
      param: "contents[0].parts[0].inlineData.data",
    });
  });
});
