import type { Usage } from "@sluicegate/contract";

/*
 * What an answer says, whoever's dialect it is in: the common ground on which recorded answers and what clients are told of
 * them are compared. The readers beside this file share no code with what is under test.
 */

/** A tool call. Arguments are parsed; those of a free-text tool are `{ input }`. */
export interface SaidCall {
  name: string;
  arguments: unknown;
}

/** One answer of a reply. */
export interface Said {
  text: string;
  refusal: string;
  reasoning: string;
  calls: SaidCall[];
  /** stop, length, tool_calls, content_filter, error; null: the answer does not say. */
  finish: string | null;
  /** Proofs and thoughts only their maker can read, out of any wrapper, in order. */
  proofs: string[];
  /** How many of them, at the end, stand behind words and before no call and no thought. */
  late: number;
}

/** A reply: its answers, and what it cost. */
export interface Reply {
  choices: Said[];
  usage: Usage | null;
  model: string | null;
}

/** An answer that says nothing yet. */
export function silent(): Said {
  return { text: "", refusal: "", reasoning: "", calls: [], finish: null, proofs: [], late: 0 };
}

/** Arguments as they are meant: nothing is `{}`, what is no JSON stays text. */
export function meant(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A finish word by a table; a plain stop after a call is the call. */
export function finishOf(word: unknown, table: Record<string, string>, called: boolean): string | null {
  if (word === null || word === undefined || word === "") return called ? "tool_calls" : null;
  const reason = table[String(word)] ?? "stop";
  return reason === "stop" && called ? "tool_calls" : reason;
}

/** A proof out of the gateway's wrapper (`sg1.MAKER.WHAT.VALUE`, with OpenRouter's format before a value of its own). */
export function unwrapped(proof: string): string {
  return proof.replace(/^sg1\.[a-z-]+\.(?:text|encrypted|call)\.(?:[a-z-]+-v\d+\|)?/, "");
}
