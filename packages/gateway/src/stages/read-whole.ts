import type { ProviderFailure } from "../core/errors.ts";
import type { UpstreamHeaders } from "../core/transport.ts";
import { type AttemptOutcome, type AttemptSpec, isGood } from "./attempt-outcome.ts";
import type { Meter } from "./meter.ts";
import { messageOf, providerFailure } from "./provider-failure.ts";

/**
 * A whole answer, read by the protocol that its attempt spoke; what it says is put into `meter`. Whatever stands in it, nothing
 * is thrown into the transport.
 */
export function readWhole(
  { protocol, quirks, stream, rewrite }: AttemptSpec,
  meter: Meter,
  headers: UpstreamHeaders,
  raw: Buffer,
  nowMs: number,
): Exclude<AttemptOutcome, { kind: "streaming" }> {
  const status = meter.httpStatus ?? 0;
  try {
    if (!isGood(status)) return failed(protocol.classifyFailure(status, headers, raw, nowMs));
    const body = protocol.foldHeaders?.(raw, headers) ?? raw;
    const contentType = headers["content-type"] ?? "application/octet-stream";
    const facts = protocol.readReply(body, quirks, nowMs, contentType);
    meter.usage = facts.usage;
    if ("failure" in facts) return failed(facts.failure);
    if (stream && !protocol.mayAnswerWhole) return invalid(meter, "a stream was asked for and one JSON body came");
    meter.model = facts.model;
    meter.finishReason = facts.finishReason;
    meter.outputChars = facts.outputChars;
    return { kind: "reply", body: rewrite ? rewrite(body) : body, facts, contentType };
  } catch (error) {
    return invalid(meter, messageOf(error));
  }
}

function failed(failure: ProviderFailure): { kind: "failed"; failure: ProviderFailure } {
  return { kind: "failed", failure };
}

/** An answer that is none. The provider may have done the work. */
function invalid({ httpStatus }: Meter, message: string): { kind: "failed"; failure: ProviderFailure } {
  return failed(providerFailure("invalid_response", message, true, httpStatus));
}
