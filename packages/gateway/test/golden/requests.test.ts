import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { callOf, type GoldenCase, goldenCases, outcomeOf, TARGETS, type TargetName } from "./golden-case.ts";

/*
 * Hand-written client requests, and what each other protocol's provider is sent for them: one file a case in `cases`, one
 * snapshot for each other protocol in `requests`. A snapshot holds the HTTP request and what `x-sluicegate-dropped` lists,
 * or the client's fields that make such a deployment leave the chain.
 */

const FOLDER = new URL("requests/", import.meta.url);
const CASES = goldenCases();
const KNOWN = new Set(readdirSync(FOLDER));

/** Targets that a case has to be translated for. */
function others(golden: GoldenCase): TargetName[] {
  const own = callOf(golden).client.name;
  return TARGETS.filter((target) => target !== own);
}

const PAIRS = CASES.flatMap((golden) =>
  others(golden).map((target) => ({ golden, target, file: `${golden.name}.${target}.snap` })),
);

describe("a golden request", () => {
  it.each(PAIRS)("$golden.name to $target", async ({ golden, target, file }) => {
    const outcome = outcomeOf(golden, target);
    await expect(`${JSON.stringify(outcome, null, 2)}\n`).toMatchFileSnapshot(new URL(file, FOLDER).pathname);
  });

  it.each(CASES)("$name goes to its own protocol as it came", (golden) => {
    const own = TARGETS.find((target) => target === callOf(golden).client.name);
    if (!own) return;
    const outcome = outcomeOf(golden, own);
    if ("refused" in outcome) throw new Error("refused by its own protocol");
    const { model: _, ...rest } = outcome.body as Record<string, unknown>;
    const { model: __, ...sent } = golden.body;
    expect(rest).toEqual({ ...sent, ...(own === "openai-chat" && usageAsked(golden.body)) });
    expect(outcome.dropped).toEqual([]);
  });

  it("has a snapshot for every pair, and there is none besides", () => {
    expect([...KNOWN].sort()).toEqual(PAIRS.map(({ file }) => file).sort());
  });
});

/** Usage is always asked for where a chat stream is (WIRE A1.4). */
function usageAsked(body: Record<string, unknown>): object {
  return body["stream"] === true ? { stream_options: { include_usage: true } } : {};
}
