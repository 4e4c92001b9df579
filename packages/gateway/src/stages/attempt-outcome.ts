import type { ReplyFacts } from "../core/call.ts";
import type { ProviderFailure } from "../core/errors.ts";
import type { UpstreamRequest } from "../core/transport.ts";
import type { AttemptTimeouts } from "../resilience/timeouts.ts";
import type { EventIntake, IntakeSpec } from "./event-intake.ts";

/** What an attempt came to before anything of it could reach the client. */
export type AttemptOutcome =
  | { kind: "failed"; failure: ProviderFailure }
  | { kind: "reply"; body: Buffer; facts: ReplyFacts; contentType: string }
  /** The commit point: the first real output is here. What was held back comes with the first `take`. */
  | { kind: "streaming" };

/** How a committed stream ended. */
export interface StreamEnd {
  failure: ProviderFailure | null;
  /** The upstream's own end mark has gone to the client. */
  terminated: boolean;
  /** It came, and was kept back. */
  heldTerminator: Buffer | null;
}

/** Takes the bytes of a committed stream. False asks for a pause until `resume`. */
export type StreamTaker = (bytes: Buffer) => boolean;

/** A way past the taker. */
export interface StreamPasser {
  /** Sends on, at `now`, what stands in `bytes` from `from` to `to`, and keeps none. False: it cannot, and nothing was sent. */
  pass(bytes: Buffer, from: number, to: number, now: number): boolean;
}

/** One whole answer, read and shown to nobody: what the gateway asks for itself. */
export const WHOLE_ANSWER = {
  ...{ rewrite: null, writer: null, dresser: null },
  ...{ stream: false, choices: 1, showsUsage: false, holdTerminator: false },
} satisfies Partial<AttemptSpec>;

/** What one attempt is made of. */
export interface AttemptSpec extends IntakeSpec {
  /** A promise while it is being signed: the deadline runs. */
  request: UpstreamRequest | Promise<UpstreamRequest>;
  /** Says a whole answer in the client's dialect, or dresses its bytes; null where they go on as they are. */
  rewrite: ((body: Buffer) => Buffer) | null;
  /** Told once, when it is over. */
  over?: (() => void) | undefined;
  stream: boolean;
  timeouts: AttemptTimeouts;
}

/** An answer, and not an error. */
export function isGood(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** What became of a stream's end mark. */
export function marksOf(intake: EventIntake | null): Pick<StreamEnd, "terminated" | "heldTerminator"> {
  return { terminated: intake?.terminated === true, heldTerminator: intake?.heldTerminator ?? null };
}
