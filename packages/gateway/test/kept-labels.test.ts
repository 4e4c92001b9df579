import { expect, test } from "vitest";
import { systemClock } from "../src/core/clock.ts";
import { LIMITS } from "../src/core/limits.ts";
import { clippedText } from "../src/core/own-text.ts";
import { systemRandom } from "../src/core/random.ts";
import type { Exchange } from "../src/http/exchange.ts";
import type { Protocol } from "../src/protocols/protocol.ts";
import { PROTOCOLS } from "../src/protocols/registry.ts";
import { openVisit } from "../src/stages/visit.ts";
import { heldHeapBytes } from "./support/held-bytes.ts";

// Labels outlive their request: on rows, in lines that wait for the log's reader, in counts of refusals. A piece of a string holds
// on to all of it, and these are cut from strings that clients make as long as they like.
const MIB = 1024 * 1024;
const COUNT = 16;

/** Heap that `make` leaves in use, called several times, with what it made. */
function heldBy<T>(make: (n: number) => T): { bytes: number; made: T[] } {
  make(0);
  const made: T[] = [];
  const bytes = heldHeapBytes(() => {
    for (let n = 0; n < COUNT; n++) made.push(make(n));
  });
  return { bytes, made };
}

const long = (n: number): string => `${n}`.padEnd(MIB, "x");
const HI = { role: "user", content: "hi" };
const bodies: [string, (user: string) => object][] = [
  ["openai-chat", (user) => ({ model: "m", user, messages: [HI] })],
  ["openai-chat", (user) => ({ model: "m", safety_identifier: user, messages: [HI] })],
  ["openai-responses", (user) => ({ model: "m", user, input: "hi" })],
  ["openai-embeddings", (user) => ({ model: "m", user, input: "hi" })],
  ["openai-completions", (user) => ({ model: "m", user, prompt: "hi" })],
  ["anthropic-messages", (user) => ({ model: "m", max_tokens: 1, metadata: { user_id: user }, messages: [HI] })],
];

test.each(bodies)("%s: the user of a call holds on to nothing but itself", (name, body) => {
  const protocol = PROTOCOLS.find((one) => one.name === name);
  const userOf = (n: number): string | undefined =>
    protocol?.decodeRequest({
      raw: Buffer.from(JSON.stringify(body(long(n)))),
      header: (header) => (header === "content-type" ? "application/json" : undefined),
      path: { query: "" },
    }).platform.user;
  const { bytes, made } = heldBy(userOf);
  expect(made).toEqual(Array.from({ length: COUNT }, (_, n) => long(n).slice(0, LIMITS.labelCharsMax)));
  expect(bytes).toBeLessThan((COUNT / 4) * MIB);
});

test("neither does a client's own name for its request", () => {
  const plane = { clock: systemClock, random: systemRandom() };
  const nameOf = (n: number): string | null => {
    const exchange = { header: (name: string) => (name === "x-request-id" ? long(n) : undefined) };
    return openVisit(plane.clock, plane.random, exchange as Exchange, PROTOCOLS[0] as Protocol).clientRequestId;
  };
  const { bytes, made } = heldBy(nameOf);
  expect(made).toEqual(Array.from({ length: COUNT }, (_, n) => long(n).slice(0, 128)));
  expect(bytes).toBeLessThan((COUNT / 4) * MIB);
});

test("a clipped text is the beginning of the text, or the text", () => {
  for (const text of ["", "ab", "abc", "abcd", `ab${"\u{1f600}"}`]) expect(clippedText(text, 3)).toBe(text.slice(0, 3));
});
