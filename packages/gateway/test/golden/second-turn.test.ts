import { describe, expect, it } from "vitest";
import { at, type Json, listAt, payloadsOf, textAt } from "../support/loose-json.ts";
import type { AnswerCase, Step } from "./answer-cases.ts";
import { clientCall, protocolOf, SPEAK, streamedTo, wholeTo } from "./answer-run.ts";
import { type Outcome, outcomeOf, TARGETS, type TargetName } from "./golden-case.ts";

/*
 * A client of one dialect is answered by a provider of another, and sends the answer back with the next question, as its SDK
 * keeps it. The provider that made the answer gets its own proofs, ids and arguments; any other gets none of its proofs.
 */

const USAGE = {
  input_tokens: 9,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 9,
  reasoning_tokens: 0,
};
const ARGS = '{"city":"Tromsø","days":[1,2]}';
/** Base64, as vendors' proofs are. */
const PROOF = "cHJvb2Ytb2YtdGhlLW1ha2Vy";
const SEAL = "c2VhbC1vZi10aGUtbWFrZXI=";
/** Anthropic's own form of id, which everybody takes. */
const ID = "toolu_01Abc";

const CALL: Step = { call: "weather", id: ID, args: [ARGS] };
const NOW: Step = { call: "now", id: "toolu_02Abc", args: ["{}"] };
/** What each maker says, proofs where it puts them. OpenAI's chat proves nothing. */
const STEPS: Record<TargetName, Step[]> = {
  "openai-chat": [{ think: ["Need it."] }, { say: ["Looking."] }, CALL, NOW],
  "openai-responses": [{ think: ["Need it."], proof: PROOF }, { sealed: SEAL }, { say: ["Looking."] }, CALL, NOW],
  "anthropic-messages": [{ think: ["Need it."], proof: PROOF }, { sealed: SEAL }, { say: ["Looking."] }, CALL, NOW],
  "gemini-generate": [{ think: ["Need it."] }, { say: ["Looking."] }, { ...CALL, proof: PROOF } as Step, NOW],
};

const TOOLS = [
  { name: "weather", schema: { type: "object", properties: { city: { type: "string" } } } },
  { name: "now", schema: { type: "object", properties: {} } },
];

interface Turn {
  path: string;
  body: Json;
}

/** A client: how it asks, and how its SDK puts an answer, and the results of its calls, into the next request. */
interface Client {
  name: "chat" | "responses" | "messages" | "gemini";
  next(answer: Buffer, stream: boolean): Turn;
}

const CLIENTS: Record<TargetName, Client> = {
  "openai-chat": { name: "chat", next: chatTurn },
  "openai-responses": { name: "responses", next: responsesTurn },
  "anthropic-messages": { name: "messages", next: messagesTurn },
  "gemini-generate": { name: "gemini", next: geminiTurn },
};

const ROUNDS = TARGETS.flatMap((maker) =>
  TARGETS.filter((client) => client !== maker).flatMap((client) =>
    [false, true].map((stream) => ({ maker, client, how: stream ? "streamed" : "whole", stream })),
  ),
);

describe("an answer that comes back", () => {
  it.each(ROUNDS)("of $maker, $how, from a client of $client", ({ maker, client, stream }) => {
    const turn = askedAgain(maker, client, stream);
    const home = sent(outcomeOf(turn, maker));
    expect(callsIn(maker, home)).toEqual([
      { id: idOf(maker, turn), name: "weather", arguments: JSON.parse(ARGS) },
      { id: expect.any(String), name: "now", arguments: {} },
    ]);
    expect(answeredIn(maker, home)).toEqual(callsIn(maker, home).map(({ id }) => id));
    expect(proofsIn(home)).toEqual(proofsOf(maker));
    expect(JSON.stringify(home)).toContain("Looking.");
    for (const other of TARGETS.filter((target) => target !== maker)) {
      const body = sent(outcomeOf(turn, other));
      expect(callsIn(other, body).map(({ arguments: args }) => args)).toEqual([JSON.parse(ARGS), {}]);
      expect(answeredIn(other, body)).toEqual(callsIn(other, body).map(({ id }) => id));
      // A chat server may serve any vendor's models: what a client shows it is the client's affair.
      const shown = client === "openai-chat" && other === client;
      if (!shown) expect(proofsIn(body), `for ${other}`).toEqual([]);
      expect(JSON.stringify(body), `for ${other}`).not.toMatch(/sg1\.|c2cxL/);
    }
  });
});

/** The second request of a client whose first was answered by `maker`. */
function askedAgain(maker: TargetName, client: TargetName, stream: boolean): Turn {
  const { name, next } = CLIENTS[client];
  const answer: AnswerCase = {
    name: "second turn",
    alternatives: [{ steps: STEPS[maker], finish: "tool_calls" }],
    usage: USAGE,
  };
  const call = clientCall(name, stream, 1);
  const source = protocolOf(maker);
  const said = stream
    ? streamedTo(call, source, [SPEAK[maker].stream(answer)])
    : wholeTo(call, source, SPEAK[maker].whole(answer));
  return next(said, stream);
}

function sent(outcome: Outcome): unknown {
  if ("refused" in outcome) throw new Error(`refused: ${outcome.refused.join(", ")}`);
  return outcome.body;
}

/** Gemini gives its calls no ids: whatever the client was told has to come back. */
function idOf(maker: TargetName, turn: Turn): string | undefined {
  if (maker !== "gemini-generate") return ID;
  return /"(call_[0-9a-f]{24})"/.exec(JSON.stringify(turn.body))?.[1];
}

function proofsOf(maker: TargetName): string[] {
  if (maker === "openai-chat") return [];
  return maker === "gemini-generate" ? [PROOF] : [SEAL, PROOF].sort();
}

/** The maker's proofs that stand somewhere in a body, each as a value of its own. */
function proofsIn(body: unknown): string[] {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (typeof value === "string" && (value.includes(PROOF) || value.includes(SEAL))) found.push(value);
    if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) look(inner);
  };
  look(body);
  return found.sort();
}

interface SentCall {
  id: string;
  name: string;
  arguments: unknown;
}

function callsIn(target: TargetName, body: unknown): SentCall[] {
  switch (target) {
    case "openai-chat":
      return listAt(body, "messages").flatMap((message) =>
        listAt(message, "tool_calls").map((call) => ({
          id: textAt(call, "id"),
          name: textAt(call, "function", "name"),
          arguments: JSON.parse(textAt(call, "function", "arguments")) as unknown,
        })),
      );
    case "openai-responses":
      return listAt(body, "input")
        .filter((item) => at(item, "type") === "function_call")
        .map((item) => ({
          id: textAt(item, "call_id"),
          name: textAt(item, "name"),
          arguments: JSON.parse(textAt(item, "arguments")) as unknown,
        }));
    case "anthropic-messages":
      return listAt(body, "messages")
        .flatMap((message) => listAt(message, "content"))
        .filter((block) => at(block, "type") === "tool_use")
        .map((block) => ({ id: textAt(block, "id"), name: textAt(block, "name"), arguments: at(block, "input") }));
    case "gemini-generate":
      return listAt(body, "contents")
        .flatMap((content) => listAt(content, "parts"))
        .flatMap((part) => at(part, "functionCall") ?? [])
        .map((call) => ({ id: textAt(call, "id"), name: textAt(call, "name"), arguments: at(call, "args") ?? {} }));
  }
}

/** Ids of the calls that the results answer, in order. */
function answeredIn(target: TargetName, body: unknown): string[] {
  switch (target) {
    case "openai-chat":
      return listAt(body, "messages").flatMap((message) => textAt(message, "tool_call_id") || []);
    case "openai-responses":
      return listAt(body, "input")
        .filter((item) => at(item, "type") === "function_call_output")
        .map((item) => textAt(item, "call_id"));
    case "anthropic-messages":
      return listAt(body, "messages")
        .flatMap((message) => listAt(message, "content"))
        .flatMap((block) => textAt(block, "tool_use_id") || []);
    case "gemini-generate":
      return listAt(body, "contents")
        .flatMap((content) => listAt(content, "parts"))
        .flatMap((part) => textAt(part, "functionResponse", "id") || []);
  }
}

/** The message, or the deltas put together as OpenAI's SDK does: texts joined, entries of lists by their index. */
function chatTurn(answer: Buffer, stream: boolean): Turn {
  const text = answer.toString("utf8");
  const message = stream ? assembledChat(payloadsOf(text)) : at(JSON.parse(text), "choices", 0, "message");
  const results = listAt(message, "tool_calls").map((call) => ({
    role: "tool",
    tool_call_id: at(call, "id"),
    content: "result",
  }));
  return {
    path: "/v1/chat/completions",
    body: {
      model: "alias",
      messages: [{ role: "user", content: "Weather?" }, message, ...results],
      tools: TOOLS.map(({ name, schema }) => ({ type: "function", function: { name, parameters: schema } })),
    },
  };
}

function assembledChat(chunks: readonly Json[]): Json {
  const message: Json = {};
  for (const chunk of chunks) grow(message, (at(chunk, "choices", 0, "delta") ?? {}) as Json);
  return message;
}

/** Texts grow, lists grow by their entries' index, everything else is what came last. */
function grow(into: Json, delta: Json): void {
  for (const [key, value] of Object.entries(delta)) {
    const known = into[key];
    if (Array.isArray(value)) {
      const list = (Array.isArray(known) ? known : []) as Json[];
      into[key] = list;
      for (const entry of value as Json[]) {
        const found = list.find((each) => each["index"] === entry["index"]);
        if (found) grow(found, entry);
        else list.push(structuredClone(entry));
      }
    } else if (
      typeof value === "string" &&
      typeof known === "string" &&
      !["id", "type", "role", "format"].includes(key)
    ) {
      into[key] = known + value;
    } else if (typeof value === "object" && value !== null && typeof known === "object" && known !== null) {
      grow(known as Json, value as Json);
    } else if (value !== null) {
      into[key] = value;
    }
  }
}

/** The items of the finished response, as they are. */
function responsesTurn(answer: Buffer, stream: boolean): Turn {
  const text = answer.toString("utf8");
  const response = stream ? at(payloadsOf(text).at(-1), "response") : (JSON.parse(text) as unknown);
  const output = listAt(response, "output");
  const results = output
    .filter((item) => at(item, "type") === "function_call")
    .map((item) => ({ type: "function_call_output", call_id: at(item, "call_id"), output: "result" }));
  return {
    path: "/v1/responses",
    body: {
      model: "alias",
      store: false,
      input: [{ role: "user", content: "Weather?" }, ...output, ...results],
      tools: TOOLS.map(({ name, schema }) => ({ type: "function", name, parameters: schema, strict: false })),
    },
  };
}

function messagesTurn(answer: Buffer, stream: boolean): Turn {
  const text = answer.toString("utf8");
  const content = stream ? assembledMessage(payloadsOf(text)) : listAt(JSON.parse(text), "content");
  const results = content
    .filter((block) => at(block, "type") === "tool_use")
    .map((block) => ({ type: "tool_result", tool_use_id: at(block, "id"), content: "result" }));
  return {
    path: "/v1/messages",
    body: {
      model: "alias",
      max_tokens: 1_000,
      messages: [
        { role: "user", content: "Weather?" },
        { role: "assistant", content },
        { role: "user", content: results },
      ],
      tools: TOOLS.map(({ name, schema }) => ({ name, input_schema: schema })),
    },
  };
}

function assembledMessage(events: readonly Json[]): Json[] {
  const blocks: Json[] = [];
  const inputs = new Map<Json, string>();
  for (const event of events) {
    if (event["type"] === "content_block_start") blocks.push({ ...(event["content_block"] as Json) });
    const last = blocks.at(-1);
    if (event["type"] !== "content_block_delta" || !last) continue;
    const { type: _, partial_json: json, ...delta } = event["delta"] as Json;
    if (typeof json === "string") inputs.set(last, (inputs.get(last) ?? "") + json);
    for (const [key, value] of Object.entries(delta)) last[key] = textAt(last, key) + String(value);
  }
  for (const [block, text] of inputs) block["input"] = JSON.parse(text || "{}") as Json;
  return blocks;
}

/** The parts of all responses behind each other, as Google's chat classes keep them. */
function geminiTurn(answer: Buffer, stream: boolean): Turn {
  const text = answer.toString("utf8");
  const responses = stream ? payloadsOf(text) : [JSON.parse(text) as Json];
  const parts = responses.flatMap((response) => listAt(response, "candidates", 0, "content", "parts"));
  const results = parts.flatMap((part) => {
    const call = at(part, "functionCall");
    if (!call) return [];
    const id = at(call, "id");
    const response = { output: "result" };
    return [{ functionResponse: { ...(id !== undefined && { id }), name: at(call, "name"), response } }];
  });
  return {
    path: "/v1beta/models/alias:generateContent",
    body: {
      contents: [
        { role: "user", parts: [{ text: "Weather?" }] },
        { role: "model", parts },
        { role: "user", parts: results },
      ],
      tools: [{ functionDeclarations: TOOLS.map(({ name, schema }) => ({ name, parametersJsonSchema: schema })) }],
    },
  };
}
