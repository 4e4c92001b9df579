import type { ErrorCode } from "@sluicegate/contract";
import type { ErrorDetails } from "../core/errors.ts";
import type { LedgerReader } from "./ledger.ts";

/** What a reader's thread can be asked. */
export type ReaderMethod = Exclude<keyof LedgerReader, "close">;

/** A question to the reader's thread. */
export interface ReaderCall {
  id: number;
  method: ReaderMethod;
  argument: unknown;
}

/** Its answer; `code` null: the error was not one that is thrown on purpose. */
export type ReaderAnswer =
  | { id: number; value: unknown }
  | { id: number; error: { code: ErrorCode | null; message: string; details: ErrorDetails } };
