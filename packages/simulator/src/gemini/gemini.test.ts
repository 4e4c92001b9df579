import { describe, expect, test } from "vitest";
import { gemini, generated, streamed } from "../../test/gemini.ts";
import { type Loose, simulate } from "../../test/kit.ts";

const TOOLS = [
  {
    functionDeclarations: [
      { name: "weather", parameters: { type: "OBJECT", properties: { city: { type: "STRING" } }, required: ["city"] } },
      { name: "time" },
    ],
  },
];

describe("JSON answers", () => {
  test("echo answers with a candidate and usage", async () => {
    const simulator = await simulate();
    const response = await gemini(simulator, "echo?tag=x", "generateContent");
    expect(response.headers.get("content-type")).toBe("application/json; charset=UTF-8");
    expect(await response.json()).toEqual({
      candidates: [
        { content: { parts: [{ text: "alpha beta gamma" }], role: "model" }, finishReason: "STOP", index: 0 },
      ],
      usageMetadata: {
        promptTokenCount: 4,
        candidatesTokenCount: 4,
        totalTokenCount: 8,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: 4 }],
      },
      modelVersion: "echo?tag=x",
      responseId: "sim1",
    });
    expect(simulator.requests().by_model["echo?tag=x"]).toBe(1);
  });

  test("thoughts are outside the candidates, what was cached inside the prompt, zeros are not there", async () => {
    const simulator = await simulate();
    const { usageMetadata } = await generated(simulator, "fixed?input=600&cached=500&output=30&reasoning=10");
    expect(usageMetadata).toMatchObject({
      promptTokenCount: 600,
      cachedContentTokenCount: 500,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 10,
      totalTokenCount: 630,
    });
    const none = await generated(simulator, "fixed?input=5&output=0");
    expect(Object.keys(none.usageMetadata)).toEqual(["promptTokenCount", "totalTokenCount", "promptTokensDetails"]);
    expect((await generated(simulator, "nousage")).usageMetadata).toBeUndefined();
    expect(simulator.invoice().lines[0]).toMatchObject({
      dialect: "gemini-generate",
      path: "/v1beta/models/fixed%3Finput%3D600%26cached%3D500%26output%3D30%26reasoning%3D10:generateContent",
      model: "fixed?input=600&cached=500&output=30&reasoning=10",
      input_tokens: 600,
      cached_input_tokens: 500,
      output_tokens: 30,
      reasoning_tokens: 10,
      reported: true,
    });
  });

  test.for([
    ["long?tokens=50", { generationConfig: { maxOutputTokens: 10 } }, "MAX_TOKENS"],
    ["filter200", {}, "SAFETY"],
    ["refuse", {}, "SAFETY"],
    ["tool", { tools: TOOLS }, "STOP"],
    ["echo?finish=MALFORMED_FUNCTION_CALL&tokens=0", {}, "MALFORMED_FUNCTION_CALL"],
    ["echo?finish=RECITATION", {}, "RECITATION"],
  ] as const)("%s ends for a reason", async ([model, extra, reason]) => {
    const simulator = await simulate();
    expect((await generated(simulator, model, extra)).candidates[0].finishReason).toBe(reason);
    const chunks = await streamed(simulator, model, extra);
    expect(chunks.map((chunk) => chunk.candidates[0].finishReason)).toEqual([
      ...chunks.slice(1).map(() => undefined),
      reason,
    ]);
  });

  test("a prompt that was turned away has no candidates", async () => {
    const simulator = await simulate();
    const answer = await generated(simulator, "blocked?reason=PROHIBITED_CONTENT");
    expect(answer.candidates).toBeUndefined();
    expect(answer.promptFeedback.blockReason).toBe("PROHIBITED_CONTENT");
    expect(await streamed(simulator, "blocked")).toMatchObject([{ promptFeedback: { blockReason: "SAFETY" } }]);
    expect(simulator.invoice().total).toMatchObject({ input_tokens: 8, output_tokens: 0 });
  });

  test("parallel calls: objects, the signature on the first, ids where asked; modes and allowed names", async () => {
    const simulator = await simulate();
    const parts = async (model: string, extra: object = {}): Promise<Loose[]> =>
      (await generated(simulator, model, { tools: TOOLS, ...extra })).candidates[0].content.parts;
    const bare = await parts("tool?calls=2");
    expect(bare.map((part) => part.functionCall)).toEqual([
      { name: "weather", args: { city: "sample" } },
      { name: "time", args: {} },
    ]);
    expect(bare.map((part) => part.thoughtSignature !== undefined)).toEqual([true, false]);
    const named = await parts("tool?calls=2&quirk=call_ids,no_signature");
    expect(new Set(named.map((part) => part.functionCall.id)).size).toBe(2);
    expect(named.every((part) => part.thoughtSignature === undefined)).toBe(true);
    const mode = (functionCallingConfig: object): object => ({ toolConfig: { functionCallingConfig } });
    expect((await parts("echo", mode({ mode: "ANY", allowedFunctionNames: ["time"] })))[0].functionCall.name).toBe(
      "time",
    );
    expect((await parts("tool", mode({ mode: "NONE" })))[0].text).toBe("alpha beta gamma");
  });

  test("candidates, stop sequences and schemas", async () => {
    const simulator = await simulate();
    const two = await generated(simulator, "echo", {
      generationConfig: { candidateCount: 2, stopSequences: ["gamma"] },
    });
    expect(two.candidates.map((candidate: Loose) => [candidate.index, candidate.content.parts[0].text])).toEqual([
      [0, "alpha beta "],
      [1, "alpha beta "],
    ]);
    const responseSchema = { type: "OBJECT", properties: { n: { type: "INTEGER" } }, required: ["n"] };
    const generationConfig = { responseMimeType: "application/json", responseSchema };
    const fitted = await generated(simulator, "echo", { generationConfig });
    expect(JSON.parse(fitted.candidates[0].content.parts[0].text)).toEqual({ n: 0 });
  });

  test("mirror tells what was understood, in snake case too", async () => {
    const { candidates } = await generated(await simulate(), "mirror", {
      system_instruction: { parts: [{ text: "be" }] },
      contents: [
        { role: "user", parts: [{ text: "a" }, { inline_data: { mime_type: "image/png", data: "AAAA" } }] },
        { role: "model", parts: [{ functionCall: { name: "weather", args: {} } }] },
        { role: "user", parts: [{ functionResponse: { name: "weather", response: { error: "no" } } }] },
      ],
      tools: TOOLS,
      generation_config: { stop_sequences: ["x"], temperature: 1.5, max_output_tokens: 900 },
    });
    expect(JSON.parse(candidates[0].content.parts[0].text)).toMatchObject({
      dialect: "gemini-generate",
      system: "be",
      messages: [
        { role: "user", kinds: ["text", "image"] },
        { role: "model", kinds: ["tool_call"] },
        { role: "user", kinds: ["tool_result"] },
      ],
      tools: ["weather", "time"],
      tool_results: [{ id: "weather", text: "no", error: true }],
      images: ["image/png"],
      stop: ["x"],
      temperature: 1.5,
      max_output: 900,
      tool_choice: "auto",
    });
  });
});

describe("streams", () => {
  test("server-sent events end their lines with CRLF and have no end marker", async () => {
    const response = await gemini(await simulate(), "echo", "streamGenerateContent?alt=sse");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const text = await response.text();
    expect(text.replaceAll("\r\n", "")).not.toContain("\n");
    expect(text).not.toContain("[DONE]");
    expect(text.endsWith("\r\n\r\n")).toBe(true);
  });

  test("without alt=sse it is one JSON array of the same chunks; what breaks off never closes it", async () => {
    const simulator = await simulate();
    const response = await gemini(simulator, "echo", "streamGenerateContent");
    expect(response.headers.get("content-type")).toBe("application/json; charset=UTF-8");
    const unnumbered = (chunks: Loose): Loose => chunks.map(({ responseId: _, ...chunk }: Loose) => chunk);
    expect(unnumbered(await response.json())).toEqual(unnumbered(await streamed(simulator, "echo")));
    const text = async (model: string): Promise<string> =>
      (await gemini(simulator, model, "streamGenerateContent")).text();
    expect(await text("cut?after=1")).toMatch(/^\[\{[^\]]*\}/);
    expect((await text("cut?after=1")).trimEnd().endsWith("]")).toBe(false);
    expect((await text("nodone")).trimEnd().endsWith("]")).toBe(false);
    expect(JSON.parse(await text("errorafter?after=1&status=503"))[1].error.status).toBe("UNAVAILABLE");
  });

  test("usage grows with every chunk, and the last is the whole", async () => {
    const simulator = await simulate();
    const model = "reason?tokens=3&input=10&output=70&reasoning=30";
    const chunks = await streamed(simulator, model);
    const thoughts = chunks.map((chunk) => chunk.usageMetadata.thoughtsTokenCount);
    expect(thoughts).toEqual([10, 20, 30, 30, 30, 30, 30]);
    expect(chunks.map((chunk) => chunk.usageMetadata.candidatesTokenCount ?? 0)).toEqual([0, 0, 0, 13, 26, 40, 40]);
    const whole = await generated(simulator, model);
    expect(chunks.at(-1).usageMetadata).toEqual(whole.usageMetadata);
    expect(chunks.every(({ usageMetadata: u }) => u.totalTokenCount === sum(u))).toBe(true);
  });

  test("thought is told where asked, else only signed and billed; the last empty part bears the signature", async () => {
    const simulator = await simulate();
    const thinkingConfig = { includeThoughts: true, thinkingBudget: 512 };
    const told = await streamed(simulator, "echo", { generationConfig: { thinkingConfig } });
    const parts = told.map((chunk) => chunk.candidates[0].content.parts[0]);
    expect(parts.filter((part) => part.thought === true)).toHaveLength(20);
    expect(parts.at(-1)).toEqual({ text: "", thoughtSignature: expect.any(String) });
    const untold = await streamed(simulator, "echo", { generationConfig: { thinkingConfig: { thinkingBudget: 512 } } });
    expect(untold.some((chunk) => chunk.candidates[0].content.parts[0].thought)).toBe(false);
    expect(untold.at(-1).usageMetadata.thoughtsTokenCount).toBe(20);
  });

  test("quirks: the end in the last text, nothing in the first chunk, no content at the end, a part nobody knows", async () => {
    const simulator = await simulate();
    const merged = await streamed(simulator, "echo?quirk=merged_finish");
    expect(merged).toHaveLength(3);
    expect(merged.at(-1).candidates[0]).toMatchObject({
      content: { parts: [{ text: "gamma" }] },
      finishReason: "STOP",
    });
    expect(merged.at(-1).usageMetadata.candidatesTokenCount).toBe(4);
    const [bare] = await streamed(simulator, "echo?quirk=empty_choices");
    expect([bare.candidates, bare.usageMetadata]).toEqual([undefined, { trafficType: "ON_DEMAND" }]);
    const ends = await streamed(simulator, "echo?quirk=no_message");
    expect(ends.at(-1).candidates[0]).toEqual({ finishReason: "STOP", index: 0 });
    const [odd] = await streamed(simulator, "echo?quirk=odd_events");
    expect(Object.keys(odd.candidates[0].content.parts[0])).toEqual(["oddPart"]);
    expect((await streamed(simulator, "refuse")).at(-1).candidates[0].content).toEqual({});
    const [opened] = await streamed(simulator, "echo?preamble=1");
    expect(opened.candidates[0].content.parts).toEqual([{ text: "" }]);
  });

  test("every call comes whole, and the stream still ends with STOP", async () => {
    const chunks = await streamed(await simulate(), "tool?calls=2", { tools: TOOLS });
    const calls = chunks.flatMap((chunk) => chunk.candidates[0].content.parts[0].functionCall ?? []);
    expect(calls).toEqual([
      { name: "weather", args: { city: "sample" } },
      { name: "time", args: {} },
    ]);
    expect(chunks.at(-1).candidates[0].finishReason).toBe("STOP");
  });
});

describe("beside generating", () => {
  test("tokens are counted for nothing, of contents or of a whole request", async () => {
    const simulator = await simulate();
    const counted: Loose = await (await gemini(simulator, "echo", "countTokens")).json();
    expect(counted).toEqual({ totalTokens: 4, promptTokensDetails: [{ modality: "TEXT", tokenCount: 4 }] });
    const generateContentRequest = { model: "models/echo", contents: [{ parts: [{ text: "alpha" }] }], tools: TOOLS };
    const whole = await gemini(simulator, "echo", "countTokens", { contents: undefined, generateContentRequest });
    expect(((await whole.json()) as Loose).totalTokens).toBeGreaterThan(20);
    expect(simulator.invoice().total.requests).toBe(0);
  });

  test("one text gives a vector, a batch gives one each, like ones for like texts", async () => {
    const simulator = await simulate();
    const content = { parts: [{ text: "red apple" }] };
    const one = await gemini(simulator, "embed", "embedContent", {
      contents: undefined,
      content,
      outputDimensionality: 8,
    });
    const { embedding } = (await one.json()) as Loose;
    expect(embedding.values).toHaveLength(8);
    const request = { model: "models/embed", content, outputDimensionality: 8 };
    const batch = await gemini(simulator, "embed", "batchEmbedContents", {
      contents: undefined,
      requests: [request, request],
    });
    expect(await batch.json()).toEqual({ embeddings: [embedding, embedding] });
    expect(simulator.invoice().lines).toMatchObject([
      { dialect: "gemini-embed", input_tokens: 3, output_tokens: 0 },
      { dialect: "gemini-embed", input_tokens: 6, output_tokens: 0 },
    ]);
    const stranger = { contents: undefined, requests: [{ ...request, model: "models/other" }] };
    expect((await gemini(simulator, "embed", "batchEmbedContents", stranger)).status).toBe(400);
  });

  test("models are listed in pages", async () => {
    const simulator = await simulate();
    const list = async (query: string): Promise<Loose> =>
      (await fetch(`${simulator.url}/v1beta/models?key=k&${query}`)).json();
    const first = await list("pageSize=2");
    expect(first.models[0]).toMatchObject({ name: "models/echo", supportedGenerationMethods: expect.any(Array) });
    const rest = await list(`pageSize=1000&pageToken=${first.nextPageToken}`);
    expect(rest.models[0].name).not.toBe(first.models[1].name);
    expect(rest.nextPageToken).toBeUndefined();
    const one: Loose = await (await fetch(`${simulator.url}/v1beta/models/echo?key=k`)).json();
    expect(one.name).toBe("models/echo");
  });

  test("Vertex AI's path is spoken with a bearer token", async () => {
    const simulator = await simulate();
    const url = `${simulator.url}/v1/projects/p/locations/l/publishers/google/models/echo:generateContent`;
    const body = JSON.stringify({ contents: [{ role: "user", parts: [{ text: "hi" }] }], labels: { a: "b" } });
    const ask = (headers: Record<string, string>): Promise<Response> => fetch(url, { method: "POST", headers, body });
    expect((await ask({ authorization: "Bearer t" })).status).toBe(200);
    expect((await ask({ authorization: "Bearer bad-key" })).status).toBe(401);
    expect((await ask({})).status).toBe(403);
  });
});

function sum(usage: Loose): number {
  return usage.promptTokenCount + (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0);
}
