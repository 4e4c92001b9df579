import type { Problem } from "./problem.ts";
import type { Settings } from "./settings.ts";

/** Tokens of one call. Input includes cached and cache-write tokens, output includes reasoning. */
export interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
  /** The part of `cacheWrite` that lives for an hour; absent = none. */
  readonly cacheWriteHour?: number;
}

/** A tool call; its arguments are the text of the part that holds it. */
interface PlannedCall {
  readonly kind: "function" | "custom" | "legacy";
  readonly name: string;
  readonly namespace?: string;
}

/** How a text is cut into the deltas of a stream; piecesOf does it. */
export type Cut = "words" | "fragments" | "whole";

interface Block {
  readonly text: string;
  readonly cut: Cut;
  /** Billed for the whole of it. */
  readonly tokens: number;
}

/** One block of an answer: text of some kind, or a tool call whose arguments are the text. */
export type Part =
  | (Block & { readonly kind: "text" | "reasoning" | "refusal" })
  | (Block & { readonly kind: "call"; readonly call: PlannedCall });

/** How far an answer gets: nothing at all, the headers only, or this many deltas (0 = the opening event). */
export type Position = "nothing" | "headers" | number;

/** What goes wrong with an answer, and where. */
export type Fault =
  | { readonly kind: "stall" | "reset" | "cut" | "fin"; readonly at: Position; readonly openings?: number }
  | { readonly kind: "broken"; readonly at: number }
  | {
      readonly kind: "error";
      readonly at: Position;
      readonly problem: Problem;
      readonly named: boolean;
      readonly done: boolean;
    }
  | { readonly kind: "body"; readonly status: number; readonly contentType: string; readonly body: string }
  | { readonly kind: "half" }
  | { readonly kind: "endless"; readonly bytes: number };

/** What a behaviour decides; composePlan fills in the rest. */
export interface Draft {
  readonly parts: readonly Part[];
  readonly finish: string;
  readonly problem?: Problem;
  readonly fault?: Fault;
  /** The stop word that ended the text. */
  readonly stopWord?: string | null;
  /** Why the prompt was turned away, in an answer that is no error where the format has such. */
  readonly blocked?: string;
  /** False: usage is billed but kept from the peer. */
  readonly reportsUsage?: boolean;
  /** False: the output cap of the request is ignored. */
  readonly capped?: boolean;
  /** False: the end marker of the stream is left out. */
  readonly endMarker?: boolean;
  readonly gzip?: boolean;
}

/** A whole answer, free of any wire format. */
export interface Plan {
  readonly parts: readonly Part[];
  /** The parts that answer each of the further texts of the request. */
  readonly further: readonly (readonly Part[])[];
  /** `stop`, `length`, `tool_calls`, `content_filter`, or any text that the `finish` option gave. */
  readonly finish: string;
  readonly stopWord: string | null;
  readonly blocked: string | null;
  readonly problem: Problem | null;
  readonly fault: Fault | null;
  readonly usage: Usage;
  readonly reportsUsage: boolean;
  readonly endMarker: boolean;
  readonly gzip: boolean;
  /** Alternative answers, all alike. */
  readonly choices: number;
  readonly settings: Settings;
}
