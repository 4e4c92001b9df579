import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Call } from "../../core/call.ts";
import type { ChatExtra, Target } from "../protocol.ts";
import { toCanonical } from "./canonical.ts";
import { fromCanonical } from "./encode.ts";
import { inexpressible } from "./expressible.ts";
import { chatRequest } from "./fixtures/arbitrary-request.ts";
import { decodeRequest } from "./request.ts";

const EXTRAS: readonly ChatExtra[] = [
  ...([
    "custom_tools",
    "allowed_tools",
    "parallel_tool_calls",
    "strict",
    "cache_control",
    "text_parts",
    "top_k",
  ] as const),
  ...(["reasoning_effort", "verbosity", "user", "service_tier", "prompt_cache_key"] as const),
  ...(["history_reasoning_details", "google_signatures"] as const),
];
const TARGET: Target = {
  model: "m",
  maxOutputTokens: null,
  quirks: {
    maxTokensField: null,
    streamOptions: true,
    reasoningInOutput: true,
    takes: Object.fromEntries(EXTRAS.map((extra) => [extra, true])),
    efforts: ["none", "low", "max"],
  },
};

function decode(raw: Buffer): Call {
  return decodeRequest({
    raw,
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { query: "" },
  });
}

describe("a request", () => {
  it("comes back as it was from a server that takes everything", () => {
    fc.assert(
      fc.property(chatRequest(), (request) => {
        expect(inexpressible(request, TARGET)).toEqual([]);
        const { body, dropped } = fromCanonical(request, TARGET);
        expect(dropped).toEqual([]);
        expect(toCanonical(decode(body))).toEqual(request);
      }),
    );
  });

  it("is written anew from the same request every time, and the request stays as it was", () => {
    fc.assert(
      fc.property(chatRequest(), (request) => {
        const before = structuredClone(request);
        const once = fromCanonical(request, TARGET).body.toString("utf8");
        fromCanonical(request, { ...TARGET, quirks: { ...TARGET.quirks, takes: {} } });
        expect(fromCanonical(request, TARGET).body.toString("utf8")).toBe(once);
        expect(request).toEqual(before);
      }),
    );
  });
});
