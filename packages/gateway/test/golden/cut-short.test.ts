import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { writerFor } from "../../src/protocols/translate.ts";
import { EventIntake } from "../../src/stages/event-intake.ts";
import { openMeter } from "../../src/stages/meter.ts";
import { CLIENTS, DIALECTS } from "../support/client-dialects.ts";
import type { AnswerCase } from "./answer-cases.ts";
import { clientCall, protocolOf, SPEAK } from "./answer-run.ts";
import { TARGETS, type TargetName, targetOf } from "./golden-case.ts";

/* A provider says an error behind the first words: the client is told so once, in its own dialect, and of no good end. */

const WORDS: AnswerCase = {
  name: "cut short",
  alternatives: [{ steps: [{ say: ["Hello", " world"] }], finish: "stop" }],
  usage: null,
};

/** What begins the end of an answer, by protocol. */
const END: Record<TargetName, RegExp> = {
  "openai-chat": /"finish_reason":"stop"/,
  "openai-responses": /output_text\.done/,
  "anthropic-messages": /content_block_stop/,
  "gemini-generate": /"finishReason"/,
};

const sse = (data: object, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
const ERRORS: Record<TargetName, string> = {
  "openai-chat": sse({ error: { message: "boom", type: "server_error", param: null, code: null } }),
  "openai-responses": sse(
    { type: "error", sequence_number: 9, error: { type: "server_error", code: "server_error", message: "boom" } },
    "error",
  ),
  "anthropic-messages": sse({ type: "error", error: { type: "overloaded_error", message: "boom" } }, "error"),
  "gemini-generate": sse({ error: { code: 503, message: "boom", status: "UNAVAILABLE" } }),
};

/** Words of a good end, in any dialect. */
const GOOD = /"finish_reason":"|message_stop|response\.completed|"finishReason"/;

const PAIRS = TARGETS.flatMap((source) => CLIENTS.map((client) => ({ source, client })));

describe("an answer that fails behind its first words", () => {
  it.each(PAIRS.filter(({ source, client }) => DIALECTS[client].protocol !== source))(
    "of $source is told to $client as one error",
    ({ source, client }) => {
      const call = clientCall(client, true, 1);
      const to = protocolOf(call.dialect);
      const { protocol, target } = targetOf(source);
      const writer = writerFor(to, { call, requestId: "req_01golden", createdS: 1, model: "m-1" });
      const intake = new EventIntake(
        {
          ...{ protocol, quirks: target.quirks, writer, dresser: null, choices: 1 },
          ...{ showsUsage: call.showsUsage, holdTerminator: false },
        },
        openMeter(0),
        systemClock,
      );
      const begun = intake.push(Buffer.from(beginning(source)));
      expect(begun).toMatchObject({ said: null, broken: null });
      const failed = intake.push(Buffer.from(ERRORS[source]));
      expect(failed.said).not.toBeNull();
      const error = new GatewayError("all_providers_failed", "boom");
      const end = to.encodeStreamError(error, "req_01golden", call, true).toString("utf8");
      const told = `${begun.bytes?.toString("utf8") ?? ""}${failed.bytes?.toString("utf8") ?? ""}${end}`;
      expect(told).toContain("Hello");
      expect(told).not.toMatch(GOOD);
      expect(end).toMatch(/"error"/);
    },
  );
});

/** The events before the answer's end. */
function beginning(source: TargetName): string {
  const events = SPEAK[source].stream(WORDS).toString("utf8").replaceAll("\r\n", "\n").split("\n\n");
  const end = events.findIndex((event) => END[source].test(event));
  expect(end).toBeGreaterThan(0);
  return events
    .slice(0, end)
    .map((event) => `${event}\n\n`)
    .join("");
}
