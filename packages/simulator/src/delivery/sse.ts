import { eventFrame } from "../bedrock/event-frame.ts";
import type { Manners, StreamFraming } from "../manners.ts";
import type { Plan } from "../models/plan.ts";
import type { Step } from "../wire.ts";

/** How the events of a stream are put on the wire. */
export interface Framing {
  /** One JSON array with an element for each event, instead of server-sent events. */
  readonly array: boolean;
  /** Frames of an AWS event stream, instead of server-sent events. */
  readonly frames: boolean;
  /** One bit of the third frame is wrong. */
  readonly flipped: boolean;
  readonly crlf: boolean;
  /** A comment line goes before every event. */
  readonly comments: boolean;
  /** False: the last event lacks the blank line that should end it. */
  readonly finalBlank: boolean;
  /** False: the array is never closed. */
  readonly endMarker: boolean;
}

/** Where an event stands. `whole`: the stream is to end as it should. */
export interface Place {
  readonly first: boolean;
  readonly last: boolean;
  readonly whole: boolean;
}

const COMMENT = ": keep-alive\n\n";

/** The framing a plan asks for, else that of the vendor. */
export function framingOf(plan: Plan, manners: Manners): Framing {
  return {
    array: manners.framing === "array",
    frames: manners.framing === "frames",
    flipped: plan.settings.quirk?.has("flipped_bit") === true,
    crlf: plan.settings.crlf ?? manners.framing === "crlf",
    comments: plan.settings.comments === true,
    finalBlank: plan.settings.quirk?.has("no_final_blank") !== true,
    endMarker: plan.endMarker,
  };
}

/** The vendor's framing with nothing unusual. */
export function plainFraming(framing: StreamFraming): Framing {
  return {
    array: framing === "array",
    frames: framing === "frames",
    flipped: false,
    crlf: framing === "crlf",
    comments: false,
    finalBlank: true,
    endMarker: true,
  };
}

/** One event on the wire. */
export function frame(
  step: Pick<Step, "data" | "event" | "exception">,
  framing: Framing,
  place: Place,
): string | Uint8Array {
  if (framing.frames) return awsFrame(step);
  if (framing.array) return element(step.data, framing, place);
  const name = step.event === undefined ? "" : `event: ${step.event}\n`;
  const end = place.last && !framing.finalBlank ? "\n" : "\n\n";
  const text = `${framing.comments ? COMMENT : ""}${name}data: ${step.data}${end}`;
  return framing.crlf ? text.replaceAll("\n", "\r\n") : text;
}

function awsFrame({ data, event = "", exception }: Pick<Step, "data" | "event" | "exception">): Buffer {
  const [type, name] = exception === undefined ? ["event", event] : ["exception", exception];
  return eventFrame({ [`:${type}-type`]: name, ":content-type": "application/json", ":message-type": type }, data);
}

function element(data: string, framing: Framing, { first, last, whole }: Place): string {
  return `${first ? "[" : ",\r\n"}${data}${last && whole && framing.endMarker ? "\n]\n" : "\n"}`;
}
