import { describe, expect, test } from "vitest";
import { events, eventsOf, messageJson } from "../test/anthropic.ts";
import { gemini, generated } from "../test/gemini.ts";
import { type Loose, simulate } from "../test/kit.ts";
import { records, shapesOf } from "../test/traffic.ts";

const ANTHROPIC = records("anthropic-messages.jsonl");
const GEMINI = records("gemini-generate.jsonl");
const TOOLS = [{ name: "f", input_schema: { type: "object", properties: { a: { type: "string" } } } }];
const DECLARED = [
  { functionDeclarations: [{ name: "f", parameters: { type: "OBJECT", properties: { a: { type: "STRING" } } } }] },
];

/** Shapes that recordings happen to lack though the vendor documents them. */
const DOCUMENTED = [
  /stop_details\.category:null/,
  /^content\[\]\.data:string$/,
  /^promptFeedback\./,
  /violations\[\]\.quota(Metric|Dimensions\..*):string$/,
];

/** What arguments hold is the caller's, not the vendor's. */
function strangers(made: readonly unknown[], recorded: ReadonlySet<string>): string[] {
  const own = made.flatMap((value) => shapesOf(value)).filter((shape) => !/\.(input|args)\./.test(shape));
  return [...new Set(own)].filter((shape) => !recorded.has(shape) && !DOCUMENTED.some((known) => known.test(shape)));
}

describe.skipIf(ANTHROPIC === null)("Anthropic's recordings", () => {
  test("every member of a JSON answer was recorded with that type", async () => {
    const recorded = new Set(
      (ANTHROPIC ?? []).filter((record) => !record.stream).flatMap(({ response }) => shapesOf(response.body)),
    );
    const simulator = await simulate();
    const made = [];
    for (const model of ["echo", "reason", "tool", "refuse", "fixed?reasoning=3&cached=1", "error?status=401"]) {
      made.push(await messageJson(simulator, model, { tools: TOOLS }));
    }
    expect(strangers(made, recorded)).toEqual([]);
  });

  test("every member of an event was recorded with that type", async () => {
    const streams = (ANTHROPIC ?? []).filter(({ stream, response }) => stream && typeof response.body === "string");
    const recorded = new Set(
      streams.flatMap(({ response }) => eventsOf(response.body).flatMap(({ data }) => shapesOf(data))),
    );
    const simulator = await simulate();
    const made: Loose[] = [];
    for (const model of ["echo", "reason", "tool", "fixed?reasoning=3&cached=1"]) {
      made.push(...(await events(simulator, model, { tools: TOOLS })).map(({ data }) => data));
    }
    expect(strangers(made, recorded)).toEqual([]);
  });
});

describe.skipIf(GEMINI === null)("Gemini's recordings", () => {
  test("every member of an answer was recorded with that type, in JSON and in streams", async () => {
    const bodies = (GEMINI ?? []).flatMap(({ response }): unknown[] => {
      if (typeof response.body !== "string") return [response.body].flat();
      return eventsOf(response.body).map(({ data }) => data);
    });
    const recorded = new Set(bodies.flatMap((body) => shapesOf(body)));
    const simulator = await simulate();
    const made: Loose[] = [];
    for (const model of ["echo", "reason", "tool?quirk=call_ids", "fixed?cached=2&input=9", "filter200", "blocked"]) {
      made.push(await generated(simulator, model, { tools: DECLARED }));
      made.push(...((await (await gemini(simulator, model, "streamGenerateContent")).json()) as Loose[]));
    }
    made.push(await generated(simulator, "badkey"), await generated(simulator, "error?status=429&retry_after=3"));
    expect(strangers(made, recorded)).toEqual([]);
  });
});
