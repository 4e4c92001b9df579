import { describe, expect, test } from "vitest";
import { ANTHROPIC_HEADERS } from "../test/anthropic.ts";
import { type Loose, simulate } from "../test/kit.ts";
import { records } from "../test/traffic.ts";
import { sign } from "./signature.ts";

const BETAS = "context-management-,mcp-client-,fast-mode-,server-side-fallback-,structured-outputs-,mid-conversation-";
const GOOGLE = { "x-goog-api-key": "k" };

const FILES: readonly [string, Record<string, string>][] = [
  ["anthropic-messages.jsonl", { ...ANTHROPIC_HEADERS, "anthropic-beta": BETAS }],
  ["anthropic-count-tokens.jsonl", { ...ANTHROPIC_HEADERS, "anthropic-beta": BETAS }],
  ["gemini-generate.jsonl", GOOGLE],
  ["gemini-count-tokens.jsonl", GOOGLE],
  ["gemini-embed.jsonl", GOOGLE],
  ["vertex-generate.jsonl", { authorization: "Bearer t" }],
];

describe.for(FILES)("%s", ([file, headers]) => {
  const taken = records(file)?.filter(({ request, response }) => response.status === 200 && request?.body != null);

  test.skipIf(taken === undefined)("what the vendor took is taken", async () => {
    const simulator = await simulate();
    const refused: string[] = [];
    for (const { id, request } of taken ?? []) {
      const init = { method: "POST", headers, body: JSON.stringify(resigned(request.body)) };
      const response = await fetch(`${simulator.url}${request.path}`, init);
      const body = await response.text();
      if (response.status !== 200) refused.push(`${id}: ${body.slice(0, 200)}`);
    }
    expect(refused).toEqual([]);
  });
});

/** The same with signatures of the simulator, which takes no other. */
function resigned(value: Loose): Loose {
  if (Array.isArray(value)) return value.map(resigned);
  if (typeof value !== "object" || value === null) return value;
  const made: Loose = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resigned(member)]));
  if (made.type === "thinking") made.signature = sign(made.thinking ?? "");
  if (made.type === "redacted_thinking") made.data = sign("");
  for (const name of ["thoughtSignature", "thought_signature"]) if (made[name] !== undefined) made[name] = sign("");
  return made;
}
