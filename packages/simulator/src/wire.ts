import type { Headers } from "./delivery/failure.ts";
import type { Manners } from "./manners.ts";
import type { Ask } from "./models/ask.ts";
import type { Plan } from "./models/plan.ts";
import type { Problem } from "./models/problem.ts";
import type { State } from "./state.ts";

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
  /** The event is an exception of this type, in a framing that has such. */
  readonly exception?: string;
  /** The delta is reasoning. */
  readonly thinking?: boolean;
  /** The event tells the peer the usage of the whole call. */
  readonly reportsUsage?: boolean;
}

/** A request as its wire format read it, able to write the answer in that format. */
export interface WireRequest {
  readonly ask: Ask;
  /** The whole JSON body of a non-streamed answer, or other bytes of `contentType`. */
  json(plan: Plan, stamp: Stamp): string | Uint8Array;
  /** Content type of the non-streamed answer; absent = application/json. */
  readonly contentType?: string;
  /** Headers of the non-streamed answer that depend on what it says. */
  headers?(plan: Plan): Headers;
  /** The whole JSON body of an answer that fails after status 200; absent = the format's errorBody. */
  failedJson?(problem: Problem, plan: Plan, stamp: Stamp): string;
  /** The non-streamed answer comes at once and the work goes on behind it. */
  readonly deferred?: boolean;
  /** The events of a streamed answer, in order. */
  steps(plan: Plan, stamp: Stamp): Step[];
  /** The events that say `problem` after `sent` events, for a format whose errorStep alone does not do. */
  errorSteps?(problem: Problem, plan: Plan, stamp: Stamp, sent: number): Step[];
  /** Called once for an answer that is billed or deferred, for a format that remembers its answers. */
  remember?(plan: Plan, stamp: Stamp): void;
}

/** What one wire format brings. A later format is a folder of its own that exports one of these. */
export interface WireFormat {
  /** Its name on the invoice and in what `mirror` says. */
  readonly dialect: string;
  /** What its vendor does alike everywhere; absent = as OpenAI. */
  readonly manners?: Manners;
  /** Model and mode where they do not stand in the body. */
  readonly target?: { readonly model: string; readonly stream: boolean };
  /** The model of a call that names none; absent = it must name one. */
  readonly modelDefault?: string;
  /** Whether a body asks for a stream; absent = its member `stream` says so. */
  streams?(body: Readonly<Record<string, unknown>>): boolean;
  /** True: fields it does not document are refused unless the caller says otherwise. */
  readonly strict?: boolean;
  /** False: a call of it costs nothing. */
  readonly billed?: boolean;
  /** Reads and validates a body; throws ProblemError. `strict` refuses fields the format does not know. */
  read(body: Readonly<Record<string, unknown>>, strict: boolean, state: State): WireRequest;
  /** The JSON body that says `problem`; `headers` are those it goes out with, retry hints among them. */
  errorBody(problem: Problem, headers: Headers): string;
  /** The event that says `problem` inside a stream. `named` adds the event line some servers send. */
  errorStep(problem: Problem, named: boolean): Step;
  /** The end marker; null when the format has none. */
  readonly endStep: Step | null;
}
