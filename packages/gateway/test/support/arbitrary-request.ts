import fc from "fast-check";
import type { Block, CanonicalRequest, Message, Tool, ToolChoice } from "../../src/core/message.ts";

/** Words that every provider takes: neither blank nor with white space at their ends. */
const words = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .map((text) => text.trim())
  .filter((text) => text !== "" && !text.startsWith("Error"));
const names = ["weather", "now", "read_file", "list-files"] as const;
const name = fc.constantFrom(...names);
/** Values of any kind. A name like `__proto__` is refused at the door. */
const anything = fc
  .jsonValue({ maxDepth: 2 })
  .filter((value) => !JSON.stringify(value).includes("__proto__"))
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const json = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), anything, { maxKeys: 3 });
const image: fc.Arbitrary<Block> = fc
  .tuple(fc.base64String({ minLength: 4, maxLength: 12 }), fc.constantFrom("image/png", "image/jpeg"))
  .map(([data, mediaType]) => ({ type: "image", source: { kind: "base64", data, mediaType } }));
const text: fc.Arbitrary<Block> = words.map((said) => ({ type: "text", text: said }));
const user: fc.Arbitrary<Message> = fc
  .array(fc.oneof(text, image), { minLength: 1, maxLength: 3 })
  .map((blocks) => ({ role: "user", blocks }));
const tool: fc.Arbitrary<Tool> = fc.record({
  type: fc.constant("function" as const),
  name,
  description: words,
  parameters: fc.constant({ type: "object", properties: { a: { type: "string" } }, required: ["a"] }),
});

/** The model's answer, what its calls returned, and what the user says to that. */
const step = fc
  .record({
    said: words,
    calls: fc.array(fc.record({ name, input: json, result: words, failed: fc.boolean() }), { maxLength: 3 }),
    next: user,
  })
  .map((made, turn) => ({ ...made, turn }));

function messagesOf(
  first: Message,
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
): Message[] {
  const later = steps.flatMap(({ said, calls, next }, turn): Message[] => {
    const made = calls.map((call, index): Block => {
      const id = `call_${turn}_${index}`;
      return { type: "tool_call", id, name: call.name, arguments: call.input, text: JSON.stringify(call.input) };
    });
    const results = calls.map(
      (call, index): Block => ({
        ...{ type: "tool_result", callId: `call_${turn}_${index}`, name: call.name, isError: call.failed },
        content: [{ type: "text", text: call.result }],
      }),
    );
    const answer: Message = { role: "assistant", blocks: [{ type: "text", text: said }, ...made] };
    return [answer, ...(results.length > 0 ? [{ role: "tool" as const, blocks: results }] : []), next];
  });
  return [first, ...later];
}

/** A request that holds nothing but what every chat protocol can say. */
export function commonRequest(): fc.Arbitrary<CanonicalRequest> {
  const choice: fc.Arbitrary<ToolChoice | null> = fc.constantFrom(
    null,
    { type: "auto" },
    { type: "required" },
    { type: "none" },
  );
  return fc
    .record({
      system: fc.option(words, { nil: null }),
      first: user,
      steps: fc.array(step, { maxLength: 3 }),
      tools: fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: (each) => (each as { name: string }).name }),
      toolChoice: choice,
      maxOutputTokens: fc.integer({ min: 1, max: 4_000 }),
      temperature: fc.constantFrom(null, 0, 0.5),
      stream: fc.boolean(),
    })
    .map(({ system, first, steps, ...rest }): CanonicalRequest => {
      const said = messagesOf(first, steps);
      const messages: Message[] =
        system === null ? said : [{ role: "system", blocks: [{ type: "text", text: system }] }, ...said];
      return { ...NOTHING, ...rest, messages };
    });
}

const NOTHING: Omit<
  CanonicalRequest,
  "messages" | "tools" | "toolChoice" | "maxOutputTokens" | "temperature" | "stream"
> = {
  ...{ parallelToolCalls: null, responseFormat: null, topP: null, topK: null, frequencyPenalty: null },
  ...{ presencePenalty: null, seed: null, n: 1, logprobs: null, stop: [], reasoning: null, user: null },
  ...{ metadata: null, serviceTier: null, verbosity: null, promptCacheKey: null, foreign: [] },
};

/** What a request says, whichever protocol it went through: texts of one side that follow each other are one. */
export function gistOfRequest(request: CanonicalRequest): unknown {
  const turns: { side: string; said: unknown[] }[] = [];
  const calls: string[] = [];
  for (const { role, blocks } of request.messages) {
    const side = role === "tool" ? "user" : role;
    let turn = turns.at(-1);
    if (turn?.side !== side) {
      turn = { side, said: [] };
      turns.push(turn);
    }
    for (const block of blocks) {
      const gist = gistOf(block, calls);
      const last = turn.said.at(-1);
      if (typeof gist === "string" && typeof last === "string") turn.said[turn.said.length - 1] = last + gist;
      else turn.said.push(gist);
    }
  }
  const { toolChoice, maxOutputTokens, temperature, stream } = request;
  const tools = request.tools.map((each) =>
    each.type === "function" ? [each.name, each.description, each.parameters] : each,
  );
  return { turns, tools, toolChoice, maxOutputTokens, temperature, stream };
}

/** Ids may change on the way; which call a result answers may not. An error that has no mark is said in words. */
function gistOf(block: Block, calls: string[]): unknown {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return { image: block.source };
    case "tool_call":
      calls.push(block.id);
      return { call: block.name, arguments: block.arguments };
    case "tool_result": {
      const words = block.content.map((piece) => (piece.type === "text" ? piece.text : piece.type)).join("");
      return {
        answers: calls.lastIndexOf(block.callId),
        name: block.name,
        result: block.isError ? `Error: ${words}` : words,
      };
    }
    default:
      return block;
  }
}
