import type { Fault, Plan } from "../models/plan.ts";
import { countPieces } from "../models/text.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import type { Stamp, WireFormat, WireRequest } from "../wire.ts";
import { arrangeStream } from "./arrange-stream.ts";
import { type Delivery, delivery, type Piece, wholeBody } from "./delivery.ts";
import { errorDelivery, type Headers } from "./failure.ts";

type Body = string | Uint8Array;

const ENDLESS_PIECE = "x".repeat(64 * 1024);

/** Turns a plan into the bytes, waits and faults of one HTTP answer. */
export function arrange(plan: Plan, request: WireRequest, wire: WireFormat, stamp: Stamp, headers: Headers): Delivery {
  const { fault, problem, settings } = plan;
  const manners = wire.manners ?? OPENAI_MANNERS;
  const headWaitMs = settings.latency ?? 0;
  if (problem !== null) return { ...errorDelivery(problem, wire, headers), headWaitMs };
  if (fault?.kind === "body") {
    return { ...wholeBody(fault.status, { ...headers, "content-type": fault.contentType }, fault.body), headWaitMs };
  }
  if (fault?.kind === "endless") {
    const type = request.ask.stream ? manners.streamType : manners.jsonType;
    return delivery({
      status: 200,
      headers: { ...headers, "content-type": type },
      pieces: endless(fault.bytes, request.ask.stream ? "data: " : '{"id":"'),
      headWaitMs,
      whole: false,
    });
  }
  if (request.ask.stream) return arrangeStream(plan, request, wire, stamp, headers);
  return arrangeJson(plan, request, wire, stamp, headers);
}

/** How long a JSON answer takes: `latency`, or as long as the stream would. */
export function jsonWaitMs(plan: Plan): number {
  const { latency, first_token: first = 0, between } = plan.settings;
  if (latency !== undefined) return latency;
  return between === undefined ? first : first + between * Math.max(0, countPieces(plan.parts) - 1);
}

function arrangeJson(plan: Plan, request: WireRequest, wire: WireFormat, stamp: Stamp, headers: Headers): Delivery {
  const { settings } = plan;
  const body = request.json(plan, stamp);
  const deferred = request.deferred === true;
  // What only fails or stalls later does so behind the answer.
  const later = deferred && (plan.fault?.kind === "error" || plan.fault?.kind === "stall");
  const fault = later ? null : plan.fault;
  const headWaitMs = deferred ? 0 : jsonWaitMs(plan);
  const chunkBytes = settings.chunk ?? 0;
  const typed: Record<string, string> = { ...headers, ...request.headers?.(plan) };
  typed["content-type"] = request.contentType ?? wire.manners?.jsonType ?? OPENAI_MANNERS.jsonType;
  if (fault?.kind === "error" && fault.at === "headers" && fault.problem.shape === undefined) {
    const failed = request.failedJson?.(fault.problem, plan, stamp);
    if (failed !== undefined) return { ...wholeBody(200, typed, failed), headWaitMs, chunkBytes };
  }
  if (fault !== null) return { ...faultyJson(plan, fault, body, wire, typed), headWaitMs, chunkBytes };
  if (plan.gzip) typed["content-encoding"] = "gzip";
  else typed["content-length"] = String(Buffer.byteLength(body));
  const pieces = [piece(plan, body, plan.reportsUsage)];
  return delivery({ status: 200, headers: typed, pieces, headWaitMs, chunkBytes, gzip: plan.gzip });
}

function piece({ usage }: Plan, data: Body, reportsUsage: boolean): Piece {
  return { data, waitMs: 0, output: usage.output, reasoning: usage.reasoning, reportsUsage };
}

function faultyJson(plan: Plan, fault: Fault, body: Body, wire: WireFormat, headers: Headers): Delivery {
  const half = body.slice(0, Math.ceil(body.length / 2));
  if (fault.kind === "error") {
    const failed = errorDelivery(fault.problem, wire, headers);
    return fault.at === "headers" ? { ...failed, status: 200 } : failed;
  }
  if (!("at" in fault) || fault.kind === "broken") {
    const wrong = fault.kind === "half" ? half : `${textOf(body).slice(0, -1)},,`;
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

function textOf(body: Body): string {
  return typeof body === "string" ? body : Buffer.from(body).toString("latin1");
}

function* endless(bytes: number, opening: string): Iterable<Piece> {
  yield { data: opening, waitMs: 0 };
  for (let left = bytes - opening.length; left > 0; left -= ENDLESS_PIECE.length) {
    yield { data: ENDLESS_PIECE.slice(0, left), waitMs: 0 };
  }
}
