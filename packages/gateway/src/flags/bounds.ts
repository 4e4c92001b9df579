/** The bounds of feature flags. */
export const FLAG_BOUNDS = {
  /** How long a request waits for its flags; then they say what they said last, else that it is on. */
  budgetMs: 20,
  /** How long an answer is used again, and how many of them are kept. */
  keptMs: 10_000,
  keptMax: 10_000,
  /** Questions that wait for their answer; beyond them nothing is asked. */
  pendingMax: 1_000,
  /** Flags of which it has been said that they cannot be read. */
  toldMax: 100,
} as const;
