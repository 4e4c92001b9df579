import { describe, expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";
import { records } from "../../test/traffic.ts";

const RECORDS = records("openai-responses.jsonl");

/** Which members an event, or an item or part in it, always has in the records, and which it may have. */
interface Shape {
  always: Set<string>;
  ever: Set<string>;
}

/** Members by the `type` of an object, for events and all that is in them; the response by its `object`. */
function note(shapes: Map<string, Shape>, value: Loose): void {
  if (typeof value !== "object" || value === null) return;
  for (const member of Object.values(value)) note(shapes, member);
  const name = value.type ?? value.object;
  if (typeof name !== "string" || Array.isArray(value)) return;
  const keys = Object.keys(value);
  const known = shapes.get(name);
  if (known === undefined) {
    shapes.set(name, { always: new Set(keys), ever: new Set(keys) });
    return;
  }
  for (const key of known.always) if (!keys.includes(key)) known.always.delete(key);
  for (const key of keys) known.ever.add(key);
}

function noteStream(shapes: Map<string, Shape>, text: string): void {
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("data: {")) note(shapes, JSON.parse(line.slice(6)));
  }
}

const TOOLS = [
  { type: "function", name: "weather", parameters: { type: "object", properties: {} } },
  { type: "custom", name: "shell" },
];
const ASKED: [string, object][] = [
  ["echo", {}],
  ["refuse", {}],
  ["errorafter", {}],
  ["long", { max_output_tokens: 16 }],
  ["tool?calls=2&quirk=obfuscation", { tools: TOOLS }],
  ["reason", { reasoning: { summary: "auto" }, include: ["reasoning.encrypted_content"] }],
];
/** What comes back as it was asked. */
const ECHOED = ["function", "custom"];
/** What WIRE names beyond what these records happen to hold. */
const NEWER: Readonly<Record<string, readonly string[]>> = { "response.function_call_arguments.done": ["name"] };

describe.skipIf(RECORDS === null)("against recorded responses", () => {
  test("every event, item and part has the members the vendor's always have, and none that they never have", async () => {
    const recorded = new Map<string, Shape>();
    for (const { response } of RECORDS ?? []) {
      if (typeof response.body === "string") noteStream(recorded, response.body);
      else note(recorded, response.body);
    }
    const simulator = await simulate();
    const made = new Map<string, Shape>();
    for (const [model, extra] of ASKED) {
      const body = JSON.stringify({ model, input: "alpha beta gamma", stream: true, ...extra });
      noteStream(made, await (await fetch(`${simulator.url}/v1/responses`, { method: "POST", body })).text());
    }
    const compared = [...made].filter(([name]) => recorded.has(name) && !ECHOED.includes(name));
    expect(compared.length).toBeGreaterThan(25);
    const wrong = compared.flatMap(([name, { always, ever }]) => {
      const real = recorded.get(name);
      const lacking = [...(real?.always ?? [])].filter((key) => !always.has(key));
      const odd = [...ever].filter((key) => real?.ever.has(key) === false && !NEWER[name]?.includes(key));
      return lacking.length + odd.length === 0 ? [] : [{ name, lacking, odd }];
    });
    expect(wrong).toEqual([]);
  });
});
