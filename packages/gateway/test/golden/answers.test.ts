import { describe, expect, it } from "vitest";
import { CLIENTS, type ClientName, DIALECTS } from "../support/client-dialects.ts";
import { at } from "../support/loose-json.ts";
import type { Reply } from "../support/said.ts";
import { ANSWERS, type AnswerCase, type Step } from "./answer-cases.ts";
import {
  clientCall,
  inPieces,
  inRandomPieces,
  meaningOf,
  protocolOf,
  SPEAK,
  streamedTo,
  wholeTo,
} from "./answer-run.ts";
import { keepsOrder, orderSaid, orderTold } from "./block-order.ts";
import { TARGETS, type TargetName } from "./golden-case.ts";

/*
 * Answers as every provider says them, to every client dialect, streamed and not: read back with readers that know nothing of
 * the gateway, they say the same, in the order that the dialect's clients expect.
 */

const PAIRS = TARGETS.flatMap((source) =>
  CLIENTS.filter((client) => DIALECTS[client].protocol !== source).map((client) => ({ source, client })),
);

function casesOf(source: TargetName): AnswerCase[] {
  return ANSWERS.filter(({ sources }) => !sources || sources.includes(source));
}

describe("a golden answer", () => {
  it("there are cases enough, and every provider says most of them", () => {
    expect(new Set(ANSWERS.map(({ name }) => name)).size).toBe(ANSWERS.length);
    expect(Object.fromEntries(TARGETS.map((source) => [source, casesOf(source).length]))).toEqual({
      "openai-chat": 34,
      "openai-responses": 37,
      "anthropic-messages": 35,
      "gemini-generate": 33,
    });
  });

  it.each(TARGETS.filter((each) => each !== "gemini-generate"))("of %s calls a tool by its client's name", (source) => {
    const call: Step = { call: "met_x2e_no_x3a_now", id: "call_1", args: ["{}"] };
    const answer: AnswerCase = { name: "named", alternatives: [{ steps: [call], finish: "tool_calls" }], usage: null };
    for (const stream of [false, true]) {
      const asked = clientCall("gemini", stream, 1);
      const body = stream
        ? streamedTo(asked, protocolOf(source), [SPEAK[source].stream(answer)])
        : wholeTo(asked, protocolOf(source), SPEAK[source].whole(answer));
      const [said] = DIALECTS.gemini.read(body, stream).choices;
      expect(said?.calls).toEqual([{ name: "met.no:now", arguments: {} }]);
    }
  });

  it.each(PAIRS)("of $source in JSON says the same to $client", ({ source, client }) => {
    for (const answer of casesOf(source)) {
      if (client === "gemini-array") continue;
      const call = clientCall(client, false, answer.alternatives.length);
      const body = wholeTo(call, protocolOf(source), SPEAK[source].whole(answer));
      checkSaid(answer, client, body, false);
      // A chat message has no order of its own.
      if (source !== "openai-chat") checkOrder(answer, client, body, false);
    }
  });

  it.each(PAIRS)("of $source in a stream says the same to $client, however it is cut", ({ source, client }) => {
    for (const answer of casesOf(source)) {
      const call = clientCall(client, true, answer.alternatives.length);
      const bytes = SPEAK[source].stream(answer);
      const whole = streamedTo(call, protocolOf(source), [bytes]);
      checkSaid(answer, client, whole, true);
      checkOrder(answer, client, whole, true);
      const cuts = [inPieces(bytes, 1), inPieces(bytes, 7), inRandomPieces(bytes, 1), inRandomPieces(bytes, 2)];
      for (const pieces of cuts) {
        expect(streamedTo(call, protocolOf(source), pieces).equals(whole), `${answer.name}, cut`).toBe(true);
      }
    }
  });
});

function checkSaid(answer: AnswerCase, client: ClientName, body: Buffer, stream: boolean): void {
  const dialect = DIALECTS[client];
  try {
    dialect.check(body.toString("utf8"), stream);
  } catch (error) {
    throw new Error(`${answer.name}: ${error instanceof Error ? error.message : String(error)}\n${body}`);
  }
  const got = plain(dialect.read(body, stream));
  const want = plain(dialect.tells(meaningOf(answer)));
  expect(got, `${answer.name}\n${body}`).toEqual(want);
}

function checkOrder(answer: AnswerCase, client: ClientName, body: Buffer, stream: boolean): void {
  if (keepsOrder(client)) expect(orderTold(client, body, stream), answer.name).toEqual(orderSaid(answer));
}

/** Anthropic's dialect wants a proof with every thought: this one says that there is none. */
const NO_PROOF = "0";

/** Proofs in any order; arguments out of the wrapper that dialects of objects need; a count of nothing is none. */
function plain({ choices, usage, model }: Reply): Reply {
  const counted = usage && Object.values(usage).some((count) => count > 0);
  return {
    choices: choices.map((said) => ({
      ...said,
      calls: said.calls.map(({ name, arguments: args }) => ({ name, arguments: unwrappedArguments(args) })),
      proofs: [...new Set(said.proofs)].filter((proof) => proof !== NO_PROOF).sort(),
    })),
    usage: counted ? usage : null,
    model,
  };
}

function unwrappedArguments(args: unknown): unknown {
  const raw = at(args, "__raw_arguments");
  if (typeof raw !== "string") return args;
  try {
    return JSON.parse(raw);
  } catch {
    return raw;
  }
}
