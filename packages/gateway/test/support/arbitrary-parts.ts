import { noUsage } from "@sluicegate/contract";
import fc from "fast-check";
import type { StreamPart } from "../../src/core/stream-part.ts";

/** UTF-16 as it comes: a piece may begin or end between surrogates. */
const piece = fc.string({
  unit: fc.constantFrom("a", "ß", "👋", "\ud83d", "\ude00", " ", "\n", '"', "\\", "\u2028"),
  minLength: 1,
  maxLength: 6,
});
const pieces = fc.array(piece, { minLength: 1, maxLength: 4 });
const json = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,4}$/),
  fc.oneof(fc.string({ unit: "grapheme" }), fc.integer(), fc.constant(null)),
  { maxKeys: 3 },
);

const said = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), pieces }),
  fc.record({ kind: fc.constant("reasoning" as const), pieces }),
  fc.record({
    kind: fc.constant("call" as const),
    name: fc.constantFrom("f", "get_weather"),
    input: json,
    cuts: fc.array(fc.nat(20), { maxLength: 3 }),
  }),
);

/** A stream of one answer, as every protocol can say it: thoughts first, then words, then calls. */
export function commonParts(): fc.Arbitrary<StreamPart[]> {
  const order = { reasoning: 0, text: 1, call: 2 };
  return fc
    .tuple(
      fc.array(said, { maxLength: 6 }),
      fc.constantFrom("stop" as const, "length" as const),
      fc.nat(500),
      fc.nat(500),
    )
    .map(([steps, reason, input, output]): StreamPart[] => {
      const sorted = [...steps].sort((a, b) => order[a.kind] - order[b.kind]);
      let index = 0;
      const parts = sorted.flatMap((step): StreamPart[] => {
        if (step.kind === "call") return callParts(step.name, JSON.stringify(step.input), step.cuts, index++);
        return step.pieces.map((text) => ({ type: step.kind as "text", choice: 0, text }));
      });
      return [
        { type: "start", id: "up_1", model: "m-1" },
        ...parts,
        { type: "usage", usage: { ...noUsage(), input_tokens: input + 1, output_tokens: output + 1 } },
        { type: "finish", choice: 0, reason: index > 0 && reason === "stop" ? "tool_calls" : reason },
      ];
    });
}

function callParts(name: string, text: string, cuts: readonly number[], index: number): StreamPart[] {
  const places = [...new Set(cuts.map((cut) => cut % text.length))].sort((a, b) => a - b);
  const ends = [...places, text.length];
  return [
    { type: "tool_start", choice: 0, index, id: `call_${index}`, name },
    ...ends.map(
      (end, at): StreamPart => ({
        type: "tool_arguments",
        choice: 0,
        index,
        text: text.slice(places[at - 1] ?? 0, end),
      }),
    ),
    { type: "tool_end", choice: 0, index },
  ];
}

/** What parts say, whatever pieces they come in. */
export function gistOfParts(parts: readonly StreamPart[]): unknown {
  let text = "";
  let reasoning = "";
  const calls = new Map<number, { name: string; text: string }>();
  const rest: Record<string, unknown> = {};
  for (const part of parts) {
    if (part.type === "text") text += part.text;
    if (part.type === "reasoning") reasoning += part.text;
    if (part.type === "tool_start") calls.set(part.index, { name: part.name, text: "" });
    if (part.type === "tool_arguments") (calls.get(part.index) ?? { text: "" }).text += part.text;
    if (part.type === "finish") rest["finish"] = part.reason;
    if (part.type === "usage") Object.assign(rest, part.usage);
  }
  const called = [...calls.values()].map((call) => [call.name, JSON.parse(call.text || "{}") as unknown]);
  const { finish, input_tokens: input, output_tokens: output } = rest;
  return { text, reasoning, called, finish, input, output };
}
