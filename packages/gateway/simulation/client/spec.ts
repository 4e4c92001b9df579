import type { ActKind } from "../upstream/act.ts";

/** Dialects that virtual clients speak. */
export type ClientDialect = "openai-chat" | "anthropic-messages";

/** When a client leaves. */
export type Leaving =
  | { kind: "never" }
  /** So many ms after it came. */
  | { kind: "after"; ms: number }
  /** So many ms after the first of the answer. */
  | { kind: "mid_answer"; ms: number }
  /** While it sends its body. */
  | { kind: "mid_body" };

/** How a client reads. */
export type Reading =
  | { kind: "fast" }
  /** Reads what is there every so many ms. */
  | { kind: "slow"; everyMs: number }
  /** Stops after the first of the answer, until it leaves. */
  | { kind: "stalls"; leavesAfterMs: number };

/** One client and the one thing it wants. */
export interface ClientSpec {
  /** `c12`; the requests that it makes for it are `c12.0`, `c12.1`, … */
  name: string;
  atMs: number;
  key: string;
  dialect: ClientDialect;
  alias: string;
  stream: boolean;
  metadata: boolean;
  showsUsage: boolean;
  promptChars: number;
  words: number;
  maxTokens: number | null;
  /** What the request itself brings about at any upstream. */
  wants: ActKind | null;
  toolResults: boolean;
  platform: Readonly<Record<string, unknown>>;
  headers: Readonly<Record<string, string>>;
  /** In the prompt in the place of the request's own mark, so that the bodies of several are the same; null: they are not. */
  sharedMark: string | null;
  bodyPieces: number;
  bodyPaceMs: number;
  leaving: Leaving;
  reading: Reading;
  /** Retries of its own, as an SDK makes them: only of what it is told may be tried again. */
  retries: number;
}
