import { LIMITS } from "../core/limits.ts";

const MIB = 1024 * 1024;

/** Bounds of shared state on one replica. */
export const STATE_BOUNDS = {
  /** Ceilings kept at once: those of the config, and of tenants' own credentials. */
  ceilingsMax: 10_000,
  /** Reservations that are not settled; the oldest go. */
  holdsMax: 100_000,
  /** Records of the board. */
  recordsMax: 10_000,
  /** Names taken by this replica. */
  leasesMax: 10_000,
  /** Answers kept by this replica, their bytes together, and of one. */
  replaysMax: 100_000,
  replayBytesTotalMax: 256 * MIB,
  replayBytesMax: LIMITS.replayBytesMax + LIMITS.headerBytesMax,
  /** How often answers whose time is over are looked for. */
  replaySweepMs: 60_000,
  /** How often a watched key is looked at anew: what heals a message that was missed. */
  watchEveryMs: 1_000,
  /** What a caller is told to wait for a slot: nobody knows when a call ends. */
  slotRetryMs: 1_000,
} as const;
