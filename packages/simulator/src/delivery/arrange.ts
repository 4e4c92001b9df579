import type { Fault, Plan } from "../models/plan.ts";
import { countPieces } from "../models/text.ts";
import type { Stamp, WireFormat, WireRequest } from "../wire.ts";
import { arrangeStream } from "./arrange-stream.ts";
import { type Delivery, delivery, type Piece, wholeBody } from "./delivery.ts";
import { errorDelivery, type Headers } from "./failure.ts";

const JSON_TYPE = "application/json";
const ENDLESS_PIECE = "x".repeat(64 * 1024);

/** Turns a plan into the bytes, waits and faults of one HTTP answer. */
export function arrange(plan: Plan, request: WireRequest, wire: WireFormat, stamp: Stamp, headers: Headers): Delivery {
  const { fault, problem, settings } = plan;
  const headWaitMs = settings.latency ?? 0;
  if (problem !== null) return { ...errorDelivery(problem, wire, headers), headWaitMs };
  if (fault?.kind === "body") {
    return { ...wholeBody(fault.status, { ...headers, "content-type": fault.contentType }, fault.body), headWaitMs };
  }
  if (fault?.kind === "endless") {
    const type = request.ask.stream ? "text/event-stream; charset=utf-8" : JSON_TYPE;
    return delivery({
      status: 200,
      headers: { ...headers, "content-type": type },
      pieces: endless(fault.bytes, request.ask.stream ? "data: " : '{"id":"'),
      headWaitMs,
      whole: false,
    });
  }
  if (request.ask.stream) return arrangeStream(plan, request, wire, stamp, headers);
  return arrangeJson(plan, request.json(plan, stamp), wire, headers);
}

/** How long a JSON answer takes: `latency`, or as long as the stream would. */
function jsonWaitMs(plan: Plan): number {
  const { latency, first_token: first = 0, between } = plan.settings;
  if (latency !== undefined) return latency;
  return between === undefined ? first : first + between * Math.max(0, countPieces(plan.parts) - 1);
}

function arrangeJson(plan: Plan, body: string, wire: WireFormat, headers: Headers): Delivery {
  const { fault, settings } = plan;
  const headWaitMs = jsonWaitMs(plan);
  const chunkBytes = settings.chunk ?? 0;
  const typed: Record<string, string> = { ...headers };
  typed["content-type"] = JSON_TYPE;
  if (fault !== null) return { ...faultyJson(plan, fault, body, wire, typed), headWaitMs, chunkBytes };
  if (plan.gzip) typed["content-encoding"] = "gzip";
  else typed["content-length"] = String(Buffer.byteLength(body));
  const pieces = [piece(plan, body, plan.reportsUsage)];
  return delivery({ status: 200, headers: typed, pieces, headWaitMs, chunkBytes, gzip: plan.gzip });
}

function piece({ usage }: Plan, data: string, reportsUsage: boolean): Piece {
  return { data, waitMs: 0, output: usage.output, reasoning: usage.reasoning, reportsUsage };
}

function faultyJson(plan: Plan, fault: Fault, body: string, wire: WireFormat, headers: Headers): Delivery {
  const half = body.slice(0, Math.ceil(body.length / 2));
  if (fault.kind === "error") {
    const status = fault.at === "headers" ? 200 : fault.problem.status;
    return errorDelivery({ ...fault.problem, status }, wire, headers);
  }
  if (!("at" in fault) || fault.kind === "broken") {
    const wrong = fault.kind === "half" ? half : `${body.slice(0, -1)},,`;
    const sized = { ...headers, "content-length": String(Buffer.byteLength(wrong)) };
    return delivery({ status: 200, headers: sized, pieces: [piece(plan, wrong, false)], whole: false });
  }
  return delivery({
    status: 200,
    headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
    silent: fault.at === "nothing",
    pieces: typeof fault.at === "number" ? [piece(plan, half, false)] : [],
    // With a length announced, only the end of the connection tells the peer that the rest will not come.
    ending: fault.kind === "cut" ? "fin" : fault.kind,
    whole: false,
  });
}

function* endless(bytes: number, opening: string): Iterable<Piece> {
  yield { data: opening, waitMs: 0 };
  for (let left = bytes - opening.length; left > 0; left -= ENDLESS_PIECE.length) {
    yield { data: ENDLESS_PIECE.slice(0, left), waitMs: 0 };
  }
}
