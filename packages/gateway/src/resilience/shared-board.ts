import type { Circuit } from "../core/health.ts";
import type { CoolingClass } from "./cooldown.ts";

/** What a hand last did to a circuit, as replicas tell each other. */
export interface HandRecord {
  /** Held open, held closed, or closed and left to itself. */
  set: "open" | "closed" | "free";
  /** Epoch ms, also when that is past; null: until somebody changes it. */
  until: number | null;
  reason: string | null;
  /** Who. */
  by: string;
  /** The term that began with it. */
  term: number;
}

/** What replicas tell each other of one deployment's health: small, JSON, whole in every message. Times are epoch ms, 0: none. */
export interface BoardRecord {
  circuit: Circuit;
  openedAt: number;
  /** When a probe may go; 0 while closed; null: not before somebody says so. */
  until: number | null;
  /** What opened it. */
  why: OpenedFor | null;
  /** Probes in a row that went well. */
  probesWell: number;
  coolingUntil: number;
  coolingFor: CoolingClass | null;
  hand: HandRecord | null;
  /** Moves with the circuit and with settings by hand, and not with cooldowns. */
  term: number;
  /** The last term known to its writer in which a hand ended all cooldowns. */
  lifted: number;
  /** How often the credential is known to have changed. */
  credentials: number;
  /** The replica that wrote it. */
  by: string;
  /** Higher than that of every record of this key that its writer had seen. No two writers' are the same. */
  version: number;
}

/** What opens a circuit. */
export type OpenedFor = "consecutive" | "error_rate" | "latency" | "probe" | "hand";

/** How replicas share health. Lost, it is silent: the local view goes on. */
export interface SharedBoard {
  /**
   * Tells the others, and those that come later; of two records under a key the one with the higher version stays. What the
   * store did not hear while it was lost it hears when it is back. Never throws, never waits.
   */
  publish(key: string, record: BoardRecord): void;
  /** Calls `fn` with what is known now and with every record from then on, own ones included; null: forgotten. Returns what ends it. */
  listen(fn: (key: string, record: BoardRecord | null) => void): () => void;
  /**
   * True when nobody else holds `name`; asked again by its holder, it is his for another `ttlMs`. A rejection means that the
   * store cannot say.
   */
  lease(name: string, ttlMs: number): Promise<boolean> | boolean;
  /** Ends an own lease. Never throws. */
  release(name: string): void;
}

/** A board of one replica alone. */
export const LONE_BOARD: SharedBoard = {
  publish: () => {},
  listen: () => () => {},
  lease: () => true,
  release: () => {},
};
