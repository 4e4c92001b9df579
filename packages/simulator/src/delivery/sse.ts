import type { Plan } from "../models/plan.ts";
import type { Step } from "../wire.ts";

/** How server-sent events are put on the wire. */
export interface Framing {
  readonly crlf: boolean;
  /** A comment line goes before every event. */
  readonly comments: boolean;
  /** False: the last event lacks the blank line that should end it. */
  readonly finalBlank: boolean;
}

/** The comment that `comments` and `keepalive` send. */
export const COMMENT = ": keep-alive\n\n";

/** The framing a plan asks for. */
export function framingOf(plan: Plan): Framing {
  return {
    crlf: plan.settings.crlf === true,
    comments: plan.settings.comments === true,
    finalBlank: plan.settings.quirk?.has("no_final_blank") !== true,
  };
}

/** One event as text. `last` tells whether the stream ends after it. */
export function frame(step: Step, framing: Framing, last: boolean): string {
  const name = step.event === undefined ? "" : `event: ${step.event}\n`;
  const end = last && !framing.finalBlank ? "\n" : "\n\n";
  const text = `${framing.comments ? COMMENT : ""}${name}data: ${step.data}${end}`;
  return framing.crlf ? text.replaceAll("\n", "\r\n") : text;
}
