import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Block, CacheMarker, CanonicalRequest, Message, Reply } from "../../core/message.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { readToolName, wireToolName } from "../tool-names.ts";
import { toCanonical } from "./canonical.ts";
import { fromCanonical } from "./encode.ts";
import { encodeReply } from "./encode-reply.ts";
import { canonical, decoded, eventsIn, partsOf, shown, target } from "./fixtures/calls.ts";
import { checkOrder } from "./fixtures/event-order.ts";
import { inexpressible } from "./inexpressible.ts";
import { decodeReply } from "./reply.ts";
import { streamWriter } from "./writer.ts";

const NAME = "anthropic-messages";
const RUNS = { numRuns: 150 };

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((text) => text.trim() !== "");
const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,11}$/);
const cache = fc.option(
  fc.constantFrom("5m", "1h", null).map((ttl) => ({ cache: { ttl } })),
  { nil: {} },
);
const input = fc.dictionary(
  name,
  // A name like `__proto__` is refused at the door.
  fc
    .jsonValue({ maxDepth: 2 })
    .filter((value) => !JSON.stringify(value).includes("__proto__"))
    .map((value) => JSON.parse(JSON.stringify(value)) as unknown),
  {
    maxKeys: 3,
  },
);
const own = words.map((value) => ({ dialect: NAME, value }));

const text: fc.Arbitrary<Block> = words.map((said) => ({ type: "text", text: said }));
const image: fc.Arbitrary<Block> = fc
  .oneof(
    fc.record({
      kind: fc.constant("base64" as const),
      data: fc.base64String({ minLength: 4 }),
      mediaType: fc.constantFrom("image/png", "image/webp"),
    }),
    fc.record({ kind: fc.constant("url" as const), url: fc.webUrl(), mediaType: fc.constant(null) }),
    fc.record({ kind: fc.constant("file" as const), id: name, dialect: fc.constant(NAME) }),
  )
  .map((source) => ({ type: "image", source }));
const document: fc.Arbitrary<Block> = fc.record({
  type: fc.constant("document" as const),
  source: fc.oneof(
    fc.record({
      kind: fc.constant("base64" as const),
      data: fc.base64String({ minLength: 4 }),
      mediaType: fc.constant("application/pdf"),
    }),
    fc.record({ kind: fc.constant("text" as const), text: words }),
  ),
  title: words,
  citations: fc.boolean(),
});
const thought: fc.Arbitrary<Block> = fc.oneof(
  fc
    .tuple(fc.oneof(words, fc.constant("")), own)
    .map(([said, signature]): Block => ({ type: "reasoning", text: said, signature })),
  own.map((encrypted): Block => ({ type: "reasoning", text: "", encrypted })),
);

/** A user's turn, the model's answer, and, where it calls, the results. */
const exchange = (at: number): fc.Arbitrary<Message[]> =>
  fc
    .record({
      asks: fc.array(fc.oneof(text, image, document), { minLength: 1, maxLength: 3 }),
      thinks: fc.array(thought, { maxLength: 2 }),
      says: fc.array(text, { minLength: 1, maxLength: 2 }),
      calls: fc.array(
        fc.record({ name, input, isError: fc.boolean(), content: fc.array(fc.oneof(text, image), { maxLength: 2 }) }),
        { maxLength: 2 },
      ),
    })
    .map(({ asks, thinks, says, calls }) => {
      const ids = calls.map((_, index) => `toolu_${at}_${index}`);
      const made = calls.map(
        (call, index): Block => ({
          type: "tool_call",
          id: ids[index] ?? "",
          name: call.name,
          arguments: call.input,
          text: JSON.stringify(call.input),
        }),
      );
      const results = calls.map((call, index) => ({
        type: "tool_result",
        callId: ids[index] ?? "",
        name: call.name,
        content: call.content,
        isError: call.isError,
      })) as Block[];
      const turns: Message[] = [
        { role: "user", blocks: asks },
        { role: "assistant", blocks: [...thinks, ...says, ...made] },
      ];
      return calls.length > 0 ? [...turns, { role: "tool", blocks: results }] : turns;
    });

const conversation: fc.Arbitrary<Message[]> = fc
  .tuple(
    fc.option(
      fc.array(
        fc.tuple(text, cache).map(([block, marker]) => ({ ...block, ...marker }) as Block),
        { minLength: 1, maxLength: 3 },
      ),
    ),
    exchange(0),
    exchange(1),
    text,
  )
  .map(([system, first, second, last]) => {
    const messages = [...first, ...second];
    // Results and the words behind them are one turn on the wire and two messages here.
    messages.push({ role: "user", blocks: [last] });
    return mergeUsers(system ? [{ role: "system", blocks: system }, ...messages] : messages);
  });

/** Words of a user right behind words of a user are one message on the wire. */
function mergeUsers(messages: Message[]): Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    const last = merged[merged.length - 1];
    if (last?.role === message.role) last.blocks = [...last.blocks, ...message.blocks];
    else merged.push({ ...message });
  }
  return merged;
}

const request: fc.Arbitrary<CanonicalRequest> = fc
  .record({
    messages: conversation,
    tools: fc.uniqueArray(
      fc
        .tuple(
          fc.record({
            type: fc.constant("function" as const),
            name,
            description: words,
            parameters: fc.constant({ type: "object", properties: { a: { type: "string" } } }),
          }),
          cache,
        )
        .map(([tool, marker]) => ({ ...tool, ...marker })),
      { minLength: 1, maxLength: 1, selector: (tool) => tool.name },
    ),
    toolChoice: fc.constantFrom(
      null,
      { type: "auto" } as const,
      { type: "none" } as const,
      { type: "required" } as const,
      { type: "named", name: "f" } as const,
    ),
    maxOutputTokens: fc.integer({ min: 2_000, max: 64_000 }),
    stop: fc.array(words, { maxLength: 3 }),
    stream: fc.boolean(),
    user: fc.option(name),
    sampling: fc.oneof(
      fc.record({
        temperature: fc.constantFrom(0, 0.3, 0.9),
        topK: fc.option(fc.integer({ min: 1, max: 500 })),
        topP: fc.constantFrom(null, 0.5),
        reasoning: fc.constant(null),
      }),
      fc.record({
        temperature: fc.constant(null),
        topK: fc.constant(null),
        topP: fc.constant(null),
        reasoning: fc.constantFrom(null, { effort: "none", budgetTokens: null, visible: null }),
      }),
    ),
    serviceTier: fc.constantFrom(null, "auto", "default"),
  })
  .map(({ sampling, ...rest }) => ordered(canonical({ ...rest, ...sampling })));

/** A marker for an hour may not follow one for five minutes, tools first: it becomes like it. */
function ordered(sent: CanonicalRequest): CanonicalRequest {
  let short = false;
  const mark = <Kind extends object>(thing: Kind): Kind => {
    const { cache: marker } = thing as { cache?: CacheMarker };
    if (marker && marker.ttl !== "1h") short = true;
    return marker?.ttl === "1h" && short ? { ...thing, cache: { ttl: "5m" } } : thing;
  };
  const tools = sent.tools.map(mark);
  return { ...sent, tools, messages: sent.messages.map((each) => ({ ...each, blocks: each.blocks.map(mark) })) };
}

describe("a canonical request", () => {
  it("comes back from the wire as it was, for all that the dialect can say", () => {
    fc.assert(
      fc.property(request, (sent) => {
        const to = target("claude-3-7-sonnet-20250219");
        expect(inexpressible(sent, to)).toEqual([]);
        const { body, dropped } = fromCanonical(sent, to);
        expect(dropped).toEqual([]);
        expect(toCanonical(decoded(body.toString()))).toEqual(sent);
      }),
      RUNS,
    );
  });

  it("asks for the same effort and the same schema again", () => {
    const schema = { type: "object", properties: { a: { type: "string" } }, additionalProperties: false };
    const sent = canonical({
      reasoning: { effort: "xhigh", budgetTokens: null, visible: true },
      responseFormat: { type: "json_schema", name: "answer", schema, strict: true },
    });
    const { body } = fromCanonical(sent, target("claude-opus-4-8"));
    expect(toCanonical(decoded(body.toString()))).toEqual(sent);
  });
});

describe("tool names", () => {
  it("come back whatever they are", () => {
    const any = fc.oneof(
      fc.string({
        unit: fc.constantFrom("_", "x", "a", "2", "e", "5f", ".", "/", "ü", "😀", "a"),
        minLength: 1,
        maxLength: 8,
      }),
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }),
    );
    fc.assert(
      fc.property(any, (given) => {
        const wire = wireToolName(given);
        if (wire === null) return;
        expect(wire).toMatch(/^[a-zA-Z0-9_-]+$/);
        expect(readToolName(wire)).toBe(given.isWellFormed() ? given : expect.any(String));
      }),
      { numRuns: 500 },
    );
  });
});

/** An answer as parts: thoughts, words and calls in any order, the calls' pieces interleaved. */
const answer = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("text" as const), pieces: fc.array(words, { minLength: 1, maxLength: 3 }) }),
    fc.record({
      kind: fc.constant("thought" as const),
      pieces: fc.array(words, { minLength: 1, maxLength: 3 }),
      signature: own,
    }),
    fc.record({ kind: fc.constant("secret" as const), encrypted: own }),
    fc.record({
      kind: fc.constant("calls" as const),
      calls: fc.array(fc.array(words, { maxLength: 3 }), { minLength: 1, maxLength: 3 }),
    }),
  ),
  { maxLength: 5 },
);

function partsFor(given: typeof answer extends fc.Arbitrary<infer A> ? A : never): StreamPart[] {
  const parts: StreamPart[] = [{ type: "start", id: "msg_01", model: "m" }];
  let index = 0;
  for (const piece of given) {
    if (piece.kind === "text") {
      for (const said of piece.pieces) parts.push({ type: "text", choice: 0, text: said });
    } else if (piece.kind === "thought") {
      for (const said of piece.pieces) parts.push({ type: "reasoning", choice: 0, text: said });
      parts.push({ type: "reasoning", choice: 0, text: "", signature: piece.signature });
    } else if (piece.kind === "secret") {
      parts.push({ type: "reasoning", choice: 0, text: "", encrypted: piece.encrypted });
    } else {
      const first = index;
      piece.calls.forEach((_, at) => {
        parts.push({ type: "tool_start", choice: 0, index: first + at, id: `t${first + at}`, name: "f" });
      });
      for (let round = 0; round < 3; round++) {
        piece.calls.forEach((pieces, at) => {
          const said = pieces[round];
          if (said !== undefined) parts.push({ type: "tool_arguments", choice: 0, index: first + at, text: said });
        });
      }
      piece.calls.forEach((_, at) => {
        parts.push({ type: "tool_end", choice: 0, index: first + at });
      });
      index += piece.calls.length;
    }
  }
  parts.push({ type: "finish", choice: 0, reason: index > 0 ? "tool_calls" : "stop" });
  return parts;
}

/** What the parts say, pieces put together: calls one after the other. */
function gist(parts: readonly StreamPart[]): unknown[] {
  const said: Record<string, unknown>[] = [];
  for (const part of parts) {
    const last = said[said.length - 1];
    if (part.type === "tool_arguments") {
      const call = said.find((entry) => entry["call"] === part.index);
      if (call) call["text"] = `${String(call["text"])}${part.text}`;
    } else if (part.type === "tool_start") {
      said.push({ call: part.index, id: part.id, name: part.name, text: "" });
    } else if (part.type === "text" || part.type === "reasoning") {
      const { choice: _, ...rest } = part;
      const goesOn = last?.["type"] === part.type && last["signature"] === undefined && last["encrypted"] === undefined;
      if (goesOn && !(part.type === "reasoning" && part.encrypted))
        Object.assign(last, rest, { text: `${String(last["text"])}${part.text}` });
      else said.push({ ...rest });
    } else if (part.type === "start" || part.type === "finish") {
      said.push({ ...part });
    }
  }
  return said;
}

describe("an answer in parts", () => {
  it("comes back from the stream as it was, its events in order", () => {
    fc.assert(
      fc.property(answer, (given) => {
        const parts = partsFor(given);
        const writer = streamWriter(shown());
        const bytes = parts.map((part) => writer.write(part)?.toString() ?? "").join("") + writer.end(null).toString();
        checkOrder(eventsIn(bytes));
        expect(gist(partsOf(bytes))).toEqual(gist(parts));
      }),
      RUNS,
    );
  });

  it("comes back from JSON as it was", () => {
    const blocks = fc.array(
      fc.oneof(
        text,
        thought,
        fc
          .record({ type: fc.constant("tool_call" as const), id: name, name, input })
          .map(({ input: given, ...call }): Block => ({ ...call, arguments: given, text: JSON.stringify(given) })),
      ),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(blocks, (given) => {
        const called = given.some((block) => block.type === "tool_call");
        const reply: Reply = {
          id: "msg_01",
          model: "m",
          usage: {
            input_tokens: 9,
            cached_input_tokens: 4,
            cache_write_tokens: 3,
            cache_write_1h_tokens: 1,
            output_tokens: 5,
            reasoning_tokens: 2,
          },
          choices: [
            {
              blocks: given,
              finish: called ? "tool_calls" : "stop",
              stopSequence: null,
              logprobs: null,
              annotations: [],
            },
          ],
        };
        expect(decodeReply(encodeReply(reply, shown()))).toEqual(reply);
      }),
      RUNS,
    );
  });
});
