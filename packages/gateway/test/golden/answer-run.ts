import { systemClock } from "../../src/core/clock.ts";
import type { Protocol, Quirks } from "../../src/protocols/protocol.ts";
import { PROTOCOLS } from "../../src/protocols/registry.ts";
import { translateReply, writerFor } from "../../src/protocols/translate.ts";
import type { Shown } from "../../src/protocols/translation.ts";
import { EventIntake } from "../../src/stages/event-intake.ts";
import { openMeter } from "../../src/stages/meter.ts";
import { type ClientName, DIALECTS } from "../support/client-dialects.ts";
import { meant, type Reply, type Said, silent } from "../support/said.ts";
import { seeded } from "../support/seeded.ts";
import type { Alternative, AnswerCase } from "./answer-cases.ts";
import { callOf, type TargetName } from "./golden-case.ts";
import { streamChat, wholeChat } from "./speak-chat.ts";
import { streamGemini, wholeGemini } from "./speak-gemini.ts";
import { streamMessages, wholeMessages } from "./speak-messages.ts";
import { streamResponses, wholeResponses } from "./speak-responses.ts";

/** How a provider of each protocol says an answer: encoders that share nothing with the gateway's. */
export const SPEAK: Record<TargetName, { stream(answer: AnswerCase): Buffer; whole(answer: AnswerCase): Buffer }> = {
  "openai-chat": { stream: streamChat, whole: wholeChat },
  "openai-responses": { stream: streamResponses, whole: wholeResponses },
  "anthropic-messages": { stream: streamMessages, whole: wholeMessages },
  "gemini-generate": { stream: streamGemini, whole: wholeGemini },
};

const QUIRKS: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };

/** A protocol by name. */
export function protocolOf(name: string): Protocol {
  const found = PROTOCOLS.find((each) => each.name === name);
  if (!found) throw new Error(`no protocol ${name}`);
  return found;
}

/** A client's call that `choices` answers are due to. */
export function clientCall(client: ClientName, stream: boolean, choices: number, extra: object = {}): Shown["call"] {
  const dialect = DIALECTS[client];
  const many = client.startsWith("gemini") ? { generationConfig: { candidateCount: choices } } : { n: choices };
  const body = { ...dialect.body("alias", stream), ...(choices > 1 && many), ...extra };
  return callOf({ path: dialect.path("alias", stream), body }).call;
}

/** What the client is sent for a stream that comes in `pieces`. Throws where the stream is broken. */
export function streamedTo(call: Shown["call"], source: Protocol, pieces: readonly Buffer[]): Buffer {
  const writer = writerFor(protocolOf(call.dialect), shownTo(call));
  const intake = new EventIntake(
    {
      ...{ protocol: source, quirks: QUIRKS, writer, dresser: null, choices: call.choices },
      ...{ showsUsage: call.showsUsage, holdTerminator: false },
    },
    openMeter(0),
    systemClock,
  );
  const sent: Buffer[] = [];
  for (const taken of [...pieces.map((piece) => intake.push(piece)), intake.end()]) {
    if (taken.broken !== null) throw new Error(taken.broken);
    if (taken.said) throw new Error(`the provider said ${JSON.stringify(taken.said.body)}`);
    if (taken.bytes) sent.push(taken.bytes);
  }
  return Buffer.concat([...sent, writer.end(null)]);
}

/** What the client is sent for a JSON answer. */
export function wholeTo(call: Shown["call"], source: Protocol, body: Buffer): Buffer {
  const read = source.readReply(body, QUIRKS, 0, "application/json");
  if ("failure" in read) throw new Error(read.failure.message);
  return translateReply(protocolOf(call.dialect), source, body, QUIRKS, shownTo(call));
}

function shownTo(call: Shown["call"]): Shown {
  return { call, requestId: "req_01golden", createdS: 1_700_000_000, model: "m-1" };
}

/** Bytes in pieces of one size; the last may be smaller. */
export function inPieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

/** Bytes cut wherever the seed says. */
export function inRandomPieces(bytes: Buffer, seed: number): Buffer[] {
  const chance = seeded(seed);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = chance.int(1, 60);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

/** What an answer says, by itself. */
export function meaningOf({ alternatives, usage }: AnswerCase): Reply {
  return { choices: alternatives.map(saidOf), usage, model: "m-1" };
}

function saidOf({ steps, finish }: Alternative): Said {
  const said = silent();
  for (const step of steps) {
    if ("say" in step) said.text += step.say.join("");
    if ("refuse" in step) said.refusal += step.refuse.join("");
    if ("think" in step) said.reasoning += step.think.join("");
    if ("sealed" in step) said.proofs.push(step.sealed);
    if ("call" in step) said.calls.push({ name: step.call, arguments: meant(step.args.join("")) });
    if ("proof" in step && step.proof !== undefined) said.proofs.push(step.proof);
  }
  // Whoever calls a tool has stopped for it, whatever the provider's word.
  said.finish = finish === "stop" && said.calls.length > 0 ? "tool_calls" : finish;
  return said;
}
