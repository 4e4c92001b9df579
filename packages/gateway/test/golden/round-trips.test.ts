import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CanonicalRequest } from "../../src/core/message.ts";
import type { StreamPart } from "../../src/core/stream-part.ts";
import { SseSplitter } from "../../src/http/sse-splitter.ts";
import { writerFor } from "../../src/protocols/translate.ts";
import type { ChatTranslation } from "../../src/protocols/translation.ts";
import { commonParts, gistOfParts } from "../support/arbitrary-parts.ts";
import { commonRequest, gistOfRequest } from "../support/arbitrary-request.ts";
import { clientCall, inRandomPieces, protocolOf } from "./answer-run.ts";
import { callOf, TARGETS, type TargetName, targetOf } from "./golden-case.ts";

/*
 * Whatever every protocol can say comes out of any two of them, one behind the other, as it went in.
 */

const PAIRS = TARGETS.flatMap((first) => TARGETS.map((second) => ({ first, second })));
const CLIENT = {
  "openai-chat": "chat",
  "openai-responses": "responses",
  "anthropic-messages": "messages",
  "gemini-generate": "gemini",
} as const;

describe("a request", () => {
  it.each(PAIRS)("through $first, then $second, says the same", ({ first, second }) => {
    fc.assert(
      fc.property(commonRequest(), (request) => {
        const once = through(first, request);
        expect(gistOfRequest(once)).toEqual(gistOfRequest(request));
        expect(gistOfRequest(through(second, once))).toEqual(gistOfRequest(request));
      }),
      { numRuns: 25 },
    );
  });
});

describe("a stream", () => {
  it.each(PAIRS)("through $first, then $second, says the same however it is cut", ({ first, second }) => {
    fc.assert(
      fc.property(commonParts(), fc.nat(), (parts, seed) => {
        const once = spoken(first, parts, seed);
        expect(gistOfParts(once)).toEqual(gistOfParts(parts));
        expect(gistOfParts(spoken(second, once, seed + 1))).toEqual(gistOfParts(parts));
      }),
      { numRuns: 25 },
    );
  });
});

/** A request as `name`'s provider would be sent it, read as its client's. */
function through(name: TargetName, request: CanonicalRequest): CanonicalRequest {
  const { protocol, target } = targetOf(name);
  const translation = protocol.translation as ChatTranslation;
  expect(translation.inexpressible(request, target)).toEqual([]);
  const { body, dropped } = translation.fromCanonical(request, target);
  expect(dropped).toEqual([]);
  const method = request.stream ? "streamGenerateContent" : "generateContent";
  const path = name === "gemini-generate" ? `/v1beta/models/a:${method}` : (protocol.clientPaths[0] ?? "");
  return translation.toCanonical(callOf({ path, body: JSON.parse(body.toString()) as Record<string, unknown> }).call);
}

/** Parts as a client of `name` is told them, read as its provider's. */
function spoken(name: TargetName, parts: readonly StreamPart[], seed: number): StreamPart[] {
  const call = clientCall(CLIENT[name], true, 1);
  const writer = writerFor(protocolOf(name), { call, requestId: "req_01golden", createdS: 1, model: "m-1" });
  const written = parts.map((part) => writer.write(part) ?? Buffer.alloc(0));
  const bytes = Buffer.concat([...written, writer.end(null)]);
  const { protocol, target } = targetOf(name);
  const reader = protocol.streamReader(target.quirks);
  const splitter = new SseSplitter(1_000_000);
  const read: StreamPart[] = [];
  for (const piece of inRandomPieces(bytes, seed)) {
    splitter.push(piece, (event) => {
      if (event.data !== null) read.push(...reader.read(event.data, event.name).parts);
    });
  }
  return read;
}
