import { noUsage, type Usage } from "@sluicegate/contract";
import type { FinishReason, StreamPart } from "../core/stream-part.ts";
import type { UpstreamHeaders } from "../core/transport.ts";
import { holdsCount, mergeUsage } from "../protocols/protocol.ts";

/** Characters a token takes on average, where output has to be estimated. */
export const CHARS_PER_TOKEN = 4;

/** What was learned of an attempt, for its row. Times are monotonic ms. */
export interface Meter {
  startedAt: number;
  sentAt: number | null;
  firstOutputAt: number | null;
  endedAt: number | null;
  httpStatus: number | null;
  providerRequestId: string | null;
  model: string | null;
  usage: Usage | null;
  finishReason: FinishReason | null;
  /** Finish reasons seen: one a choice. */
  finishes: number;
  /** Characters of output seen, for an estimate where usage never comes. */
  outputChars: number;
  /** How many of them had been seen when usage was last reported: what came after a report is not in it. */
  reportedChars: number;
}

/** A meter that has seen nothing yet. */
export function openMeter(startedAt: number): Meter {
  return {
    startedAt,
    sentAt: null,
    firstOutputAt: null,
    endedAt: null,
    httpStatus: null,
    providerRequestId: null,
    model: null,
    usage: null,
    finishReason: null,
    finishes: 0,
    outputChars: 0,
    reportedChars: 0,
  };
}

/** Counts one part of a stream, heard at `now`. All but starts and usage is output; errors are the attempt's business. */
export function meterPart(meter: Meter, part: StreamPart, now: number): void {
  if (part.type === "error") return;
  if (part.type === "start") {
    meter.model = part.model;
    return;
  }
  if (part.type === "usage") {
    if (!holdsCount(part.usage)) return;
    meter.usage = mergeUsage(meter.usage ?? noUsage(), part.usage);
    meter.reportedChars = meter.outputChars;
    return;
  }
  if (part.type === "finish") {
    meter.finishes++;
    if (part.choice === 0 || meter.finishReason === null) meter.finishReason = part.reason;
  } else if ("text" in part) {
    meter.outputChars += part.text.length;
  }
  meter.firstOutputAt ??= now;
}

/** Where providers put the id of a request, first come first served. */
const REQUEST_ID_HEADERS = ["x-request-id", "request-id", "apim-request-id", "x-amzn-requestid"];

/** The provider's own name for the request; null where it gives none. */
export function providerRequestId(headers: UpstreamHeaders): string | null {
  for (const name of REQUEST_ID_HEADERS) if (headers[name] !== undefined) return headers[name];
  return null;
}
