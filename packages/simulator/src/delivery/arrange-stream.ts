import type { Fault, Plan, Position } from "../models/plan.ts";
import type { Problem } from "../models/problem.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import type { Stamp, Step, WireFormat, WireRequest } from "../wire.ts";
import { type Delivery, delivery, type Ending, type Piece } from "./delivery.ts";
import type { Headers } from "./failure.ts";
import { type Moment, spread } from "./spread.ts";
import { type Framing, frame, framingOf } from "./sse.ts";

type Failed = (problem: Problem, named: boolean, sent: number) => readonly Step[];

/** The events that are sent, and how it ends. */
interface Course {
  readonly moments: readonly Moment[];
  readonly ending: Ending;
  readonly whole: boolean;
}

/** The streamed answer of a plan: events in order, each with the wait before it and the output billed by then. */
export function arrangeStream(
  plan: Plan,
  request: WireRequest,
  wire: WireFormat,
  stamp: Stamp,
  headers: Headers,
): Delivery {
  const { settings, fault } = plan;
  const moments = spread(request.steps(plan, stamp), plan.usage);
  const failed = (problem: Problem, named: boolean, sent: number): readonly Step[] =>
    request.errorSteps?.(problem, plan, stamp, sent) ?? [wire.errorStep(problem, named)];
  const course =
    fault === null ? { moments, ending: "end" as const, whole: true } : withFault(moments, fault, wire, failed);
  const manners = wire.manners ?? OPENAI_MANNERS;
  const first = settings.first_token ?? 0;
  // Providers send headers with the first token; a preamble or keep-alive comments need them earlier.
  const early = settings.preamble !== undefined || settings.keepalive !== undefined;
  const all: Record<string, string> = { ...headers };
  all["content-type"] = manners.streamType;
  all["cache-control"] = "no-cache";
  if (plan.gzip) all["content-encoding"] = "gzip";
  return delivery({
    status: 200,
    headers: all,
    silent: fault !== null && "at" in fault && fault.at === "nothing",
    headWaitMs: (settings.latency ?? 0) + (early ? 0 : first),
    pieces: piecesOf(course, plan, framingOf(plan, manners), early ? first : 0),
    ending: course.ending,
    whole: course.whole,
    chunkBytes: settings.chunk ?? 0,
    gzip: plan.gzip,
    keepaliveMs: settings.keepalive ?? 0,
    keepalive: manners.keepalive,
  });
}

function piecesOf({ moments, whole }: Course, plan: Plan, framing: Framing, firstMs: number): Piece[] {
  const betweenMs = plan.settings.between ?? 0;
  const half = plan.fault?.kind === "half";
  const closes = whole || plan.fault?.kind === "error";
  let deltas = 0;
  return moments.map(({ step, output, reasoning }, i) => {
    let waitMs = 0;
    if (step.kind === "delta") {
      waitMs = deltas === 0 ? firstMs : betweenMs;
      deltas += 1;
    }
    const place = { first: i === 0, last: i === moments.length - 1, whole: closes };
    const whole = half && !framing.frames ? halfOf(step.data, framing) : frame(step, framing, place);
    const data = framing.frames && typeof whole !== "string" ? spoilt(whole, half, framing.flipped && i === 2) : whole;
    return { data, waitMs, output, reasoning, reportsUsage: step.reportsUsage === true };
  });
}

/** Cuts the events where the fault strikes and says how the connection goes on from there. */
function withFault(moments: readonly Moment[], fault: Fault, { endStep }: WireFormat, failed: Failed): Course {
  if (fault.kind === "half") return { moments: moments.slice(0, 1), ending: "end", whole: false };
  if (!("at" in fault)) return { moments, ending: "end", whole: true };
  const at = indexOf(moments, fault.at);
  const before = moments.slice(0, at);
  const { output, reasoning } = before.at(-1) ?? { output: 0, reasoning: 0 };
  const moment = (step: Step): Moment => ({ step, output, reasoning });
  if (fault.kind === "broken") {
    const event = moments[at]?.step.event;
    const bad = moment({ kind: "open", data: '{"broken":[{"at":', ...(event !== undefined && { event }) });
    return { moments: [...before, bad, ...moments.slice(at)], ending: "end", whole: true };
  }
  if (fault.kind === "error") {
    const end = fault.done && endStep !== null ? [moment(endStep)] : [];
    const errors = failed(fault.problem, fault.named, before.length).map(moment);
    return { moments: [...before, ...errors, ...end], ending: "end", whole: false };
  }
  const opening = before[0];
  const again = opening === undefined ? [] : Array.from({ length: (fault.openings ?? 1) - 1 }, () => opening);
  return { moments: [...before, ...again], ending: fault.kind === "cut" ? "end" : fault.kind, whole: false };
}

/** Index of the first event that is not sent any more; never past the events that finish the answer. */
function indexOf(moments: readonly Moment[], at: Position): number {
  if (typeof at === "string") return 0;
  let deltas = 0;
  const index = moments.findIndex(({ step }) => {
    if (step.kind === "delta") deltas += 1;
    return deltas > at || (step.kind !== "delta" && step.kind !== "open");
  });
  return index < 0 ? moments.length : index;
}

/** A frame that breaks off, or that has a wrong bit in its payload. */
function spoilt(bytes: Uint8Array, half: boolean, flipped: boolean): Uint8Array {
  if (half) return bytes.subarray(0, Math.ceil(bytes.length / 2));
  const at = bytes.length - 6;
  if (flipped) bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes;
}

function halfOf(text: string, { array }: Framing): string {
  return `${array ? "[" : "data: "}${text.slice(0, Math.ceil(text.length / 2))}`;
}
