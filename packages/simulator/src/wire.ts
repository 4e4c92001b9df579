import type { Ask } from "./models/ask.ts";
import type { Plan } from "./models/plan.ts";
import type { Problem } from "./models/problem.ts";

/** What makes one answer distinct: its number, the unix second, and the model name to echo. */
export interface Stamp {
  readonly n: number;
  readonly created: number;
  readonly model: string;
}

/**
 * One event of a stream. `open` carries no output, `delta` does, `finish` says why it ends, `usage` bills,
 * `end` is the format's end marker.
 */
export interface Step {
  readonly kind: "open" | "delta" | "finish" | "usage" | "end";
  readonly data: string;
  /** Value of the `event:` line; absent = no such line. */
  readonly event?: string;
  /** The delta is reasoning. */
  readonly thinking?: boolean;
  /** The event tells the peer the usage of the whole call. */
  readonly reportsUsage?: boolean;
}

/** A request as its wire format read it, able to write the answer in that format. */
export interface WireRequest {
  readonly ask: Ask;
  /** The whole JSON body of a non-streamed answer. */
  json(plan: Plan, stamp: Stamp): string;
  /** The events of a streamed answer, in order. */
  steps(plan: Plan, stamp: Stamp): Step[];
}

/** What one wire format brings. A later format is a folder of its own that exports one of these. */
export interface WireFormat {
  /** Reads and validates a body; throws ProblemError. `strict` refuses fields the format does not know. */
  read(body: Readonly<Record<string, unknown>>, strict: boolean): WireRequest;
  /** The JSON body that says `problem`. */
  errorBody(problem: Problem): string;
  /** The event that says `problem` inside a stream. `named` adds the event line some servers send. */
  errorStep(problem: Problem, named: boolean): Step;
  /** The end marker; null when the format has none. */
  readonly endStep: Step | null;
}
