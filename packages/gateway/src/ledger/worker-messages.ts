import type { Position } from "./segments.ts";

/** What the worker is started with. */
export interface WorkerData {
  dataDir: string;
  /** The database file. */
  path: string;
  /** Name of the spool directory that is ours. */
  instance: string;
  fsync: boolean;
}

/** From the gateway's thread to the worker. */
export type ToWorker =
  /** Lines are in the spool up to here; `hurry`: bring them into the database without waiting for settlements. */
  | { type: "notice"; segment: number; bytes: number; hurry: boolean }
  /** Bring in what is left, mark what still runs as abandoned, and end. */
  | { type: "stop" };

/** From the worker to the gateway's thread. */
export type FromWorker =
  | { type: "consumed"; position: Position }
  /** Rows do not get into the database, and why; null: they do again. */
  | { type: "trouble"; reason: string | null }
  | { type: "adopted"; instance: string; lines: number; abandoned: number }
  | { type: "rejected"; lines: number; reason: string }
  /** The last message. `clean`: the whole spool is in the database. */
  | { type: "stopped"; clean: boolean };
