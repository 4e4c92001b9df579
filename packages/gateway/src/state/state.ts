import type { Ceiling } from "../core/ceiling.ts";

export type { Ceiling };

/** A record of the board. Nothing in it is looked into but `version`: of two under one key the higher one stays. JSON. */
export interface BoardRecord {
  readonly version: number;
}

/** Records that every replica sees within a second, and names that one replica at a time may hold. */
export interface SharedBoard {
  /** Puts a record under a key. Never waits, never throws; kept and told again when the store comes back. */
  publish(key: string, record: BoardRecord): void;
  /**
   * Tells every record published from now on, also this replica's own, each at least once, in the next microtask or later.
   * What is known already is told at first. Returns the end of listening.
   */
  listen(fn: (key: string, record: BoardRecord | null) => void): () => void;
  /**
   * Takes a name for a while, or for another while where this replica has it already. False: another replica has it. While
   * the store is lost every replica gets what it asks for. Never rejects.
   */
  lease(name: string, ttlMs: number): Promise<boolean>;
  /** Gives a name back that was taken here. Never waits, never throws; a name that somebody else has by now stays theirs. */
  release(name: string): void;
}

/** What one attempt wants of the ceilings it stands under: all of it or nothing. */
export interface ReserveRequest {
  /** Whose it is: request id and attempt. One that holds already is answered as the first time and takes nothing more. */
  holder: string;
  tenant: string;
  /** Input and expected output. */
  tokens: number;
  /** Of these, the input. */
  inputTokens: number;
  ceilings: readonly Ceiling[];
  /** How long a slot is held if it is never settled: longer than the attempt can take. */
  leaseMs: number;
}

/** Which part of a ceiling is full. */
export type Dimension = "requests" | "tokens" | "concurrency";

/** A refusal has taken nothing of any ceiling. `retryAfterMs` is when the fullest one would have room, if nobody came first. */
export type ReserveResult =
  | { ok: true }
  | {
      ok: false;
      scope: string;
      dimension: Dimension;
      retryAfterMs: number;
      /** The input alone is larger than all this tenant can ever get here: waiting does not help. */
      tooLarge?: boolean;
    };

/** How an attempt that had reserved ended. */
export interface Settlement {
  holder: string;
  /** What it used; null: it was never sent, and the request is given back as well. */
  usedTokens: number | null;
}

/** The right to run a request under an Idempotency-Key. One of the two endings is called, once; the others then do nothing. */
export interface ReplayRun {
  /** Holds on for so long from now. */
  renew(leaseMs: number): void;
  /** Keeps the answer for so long. One that is too large is not kept: the next request runs again. */
  complete(answer: Buffer, ttlMs: number): void;
  /** Gives the key free: failures are not remembered. */
  forget(): void;
}

/** What a key was found to be. */
export type Claim =
  | { state: "mine"; run: ReplayRun }
  | { state: "running"; bodyHash: string }
  | { state: "done"; bodyHash: string; answer: Buffer };

/** Answers kept under Idempotency-Keys (ruling 12). Keys are the caller's to make unlike between tenants. */
export interface Replays {
  /** Never rejects; without the store it knows what this replica knows. */
  claim(key: string, bodyHash: string, leaseMs: number): Promise<Claim>;
  /** Calls `fn` once, within a second or so, when nobody runs the key any more: claim again to see. Returns the end of watching. */
  watch(key: string, fn: () => void): () => void;
}

/** `degraded`: the store answers late or not at all for the moment; `down`: there is no connection. Both: this replica alone. */
export type Standing = "ok" | "degraded" | "down";

/** What replicas share. It never throws and never waits long: a lost store is stood in for by what this replica knows. */
export interface SharedState {
  readonly kind: "memory" | "redis";
  standing(): Standing;
  readonly board: SharedBoard;
  /** Takes all of every ceiling, or nothing. Never rejects. */
  reserve(request: ReserveRequest): Promise<ReserveResult> | ReserveResult;
  /** Ends a reservation: gives back what was too much, takes what was too little. Twice is once; unknown holders are nobody. */
  settle(settlement: Settlement): void;
  /** How much of a ceiling is used, 0 to 1, by the fullest of its parts, as last known here. */
  used(ceiling: Ceiling): number;
  /** Tokens that attempts of this replica have reserved and not settled. */
  reservedTokens(): number;
  readonly replays: Replays;
  /** Sends what is still to be sent, and lets go of the store. Never rejects. */
  close(): Promise<void>;
}
