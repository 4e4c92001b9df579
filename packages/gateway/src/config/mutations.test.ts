import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { lines, loadText } from "./test/load-text.ts";

const FULL = readFileSync(join(import.meta.dirname, "fixtures", "full.yaml"), "utf8");
const WORDS = [
  ...[
    "env:OPENAI_API_KEY",
    `\${ROUTE_TOKEN}`,
    "file:.",
    "null",
    "~",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ":",
    ": ",
    ",",
    "'",
    '"',
    "\t",
  ],
  ...[
    "\n",
    "\n\n",
    "  ",
    "#",
    "&a ",
    "*a",
    "!x ",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "|\n",
    ">-\n",
    "<<: ",
    "? ",
    "\uFEFF",
    "\0",
  ],
  ...[
    "__proto__",
    "constructor",
    "toString",
    "*",
    "/",
    "//",
    "sim/echo",
    "default",
    "0",
    "-1",
    "1e999",
    ".nan",
    "5 min",
    "10s",
  ],
  ...["\u2028", "🙂", "$${", "${", "deployment:", "vault:x#y", "sk-literal", "true", "2026-02-30", "a".repeat(200)],
];

/** What editing does to a text: pieces are put in, taken out, repeated, moved. */
const mutation = fc.record({
  at: fc.nat({ max: FULL.length }),
  length: fc.nat({ max: 40 }),
  insert: fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 8 })),
  action: fc.constantFrom("insert", "delete", "replace", "repeat", "swap lines"),
});

function mutate(
  text: string,
  steps: readonly { at: number; length: number; insert: string; action: string }[],
): string {
  let mutated = text;
  for (const { at, length, insert, action } of steps) {
    const [head, cut, tail] = [mutated.slice(0, at), mutated.slice(at, at + length), mutated.slice(at + length)];
    if (action === "insert") mutated = head + insert + cut + tail;
    else if (action === "delete") mutated = head + tail;
    else if (action === "replace") mutated = head + insert + tail;
    else if (action === "repeat") mutated = head + cut + cut + tail;
    else mutated = swapLines(mutated, at, length);
  }
  return mutated;
}

function swapLines(text: string, a: number, b: number): string {
  const all = text.split("\n");
  const [i, k] = [a % all.length, b % all.length];
  return all
    .with(i, all[k] ?? "")
    .with(k, all[i] ?? "")
    .join("\n");
}

const variables = {
  OPENAI_API_KEY: "sk-openai",
  ALERT_WEBHOOK: "https://hooks.slack.com/services/T/B/x",
  GROQ_API_KEY: "gsk",
  ROUTE_TOKEN: "t1",
  TILL_KEY: "sg_till-7_0123456789",
};
const files = { "secrets/bank.key": "bank", "secrets/ca.pem": "-----BEGIN CERTIFICATE-----" };

test("a config mangled at random never throws: it gives problems at places inside the file, or a snapshot", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 4 }), async (steps) => {
      const text = mutate(FULL, steps);
      const loaded = await loadText(text, { variables, files });
      const errors = loaded.problems.filter(({ severity }) => severity === "error");
      expect(loaded.snapshot === null).toBe(errors.length > 0);
      const textLines = text.split("\n");
      for (const { file, line, column, message } of loaded.problems) {
        expect(message).not.toMatch(/undefined|\[object/);
        if (file === null) continue;
        expect(file).toBe("sluicegate.yaml");
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(textLines.length);
        expect(column).toBeGreaterThanOrEqual(1);
        expect(column).toBeLessThanOrEqual((textLines[(line ?? 1) - 1]?.length ?? 0) + 1);
      }
    }),
    { numRuns: 150 },
  );
});

test("the same text gives the same problems", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 2 }), async (steps) => {
      const text = mutate(FULL, steps);
      const [one, two] = await Promise.all([
        loadText(text, { variables, files }),
        loadText(text, { variables, files }),
      ]);
      const plain = (loaded: typeof one): string =>
        lines(loaded)
          .join("\n")
          .replaceAll(/sluicegate-config-\w+/g, "");
      expect(plain(two)).toBe(plain(one));
      expect(two.snapshot?.revision).toBe(one.snapshot?.revision);
    }),
    { numRuns: 30 },
  );
});
