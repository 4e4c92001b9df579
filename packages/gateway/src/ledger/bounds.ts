/** The bounds of the ledger. */
export const LEDGER_LIMITS = {
  /** A segment of the spool is closed at this size, or at a quarter of a small spool. */
  segmentBytes: 8 * 1024 * 1024,
  segmentBytesMin: 64 * 1024,
  /** Memory that is used again for the lines of each tick; longer ones get their own. */
  tickBytes: 256 * 1024,
  /** Rows kept in memory while the spool file cannot be written; more are dropped and counted. */
  unwrittenBytesMax: 64 * 1024 * 1024,
  /**
   * Shapes of rows that are told apart, how many rows of one earn it a statement of its own (making it costs as much as
   * it saves in about that many), and how long a text in it may be.
   */
  rowShapesMax: 64,
  rowShapeAfter: 32,
  rowShapeTextMax: 200,
  /** How much of a segment the worker takes into one transaction. */
  batchBytes: 512 * 1024,
  /** A line longer than this is not one of ours. */
  lineBytesMax: 64 * 1024 * 1024,
  /** Runs of a kind that the reader of lean lines keeps as values, and how long a run it keeps. */
  runsMax: 1_024,
  runCharsMax: 2_048,
  /** An admission waits this long for its settlement before it is shown as a running row. */
  holdMs: 1_000,
  /** Admissions waiting so at once; the oldest beyond it become running rows. */
  heldMax: 20_000,
  /** The worker hears of new lines this often at most: it shares a core with the event loop where there are few. */
  noticeMs: 250,
  /** Back-off of a failing disk, database or worker. */
  retryMs: { first: 100, max: 5_000 },
  /** How long the start waits for a locked database before it leaves it to the worker. */
  startTimeoutMs: 250,
  /** How long the worker waits for a locked database in one go. */
  busyTimeoutMs: 1_000,
  /** How often spools of dead gateways are looked for after the start. */
  adoptEveryMs: 10_000,
  /** The same after a failure. */
  adoptRetryMs: 1_000,
  /** Lines that could not be applied are kept in `spool/rejected.jsonl` up to this size. */
  rejectedBytesMax: 16 * 1024 * 1024,
  /** How long close() waits for the database, and then for the worker. */
  closeMs: 10_000,
  workerStopMs: 5_000,
  /** Rows of one spend report, and dimensions it may be grouped by. */
  spendRowsMax: 100_000,
  spendDimensionsMax: 8,
  pageRowsMax: 1_000,
  /** Scores of one request or session, by name; scores whose request is being looked for; and how long that may take. */
  feedbackNamesMax: 32,
  feedbackWaitingMax: 100,
  feedbackLookMs: 2_000,
  /** What has only just ended is brought into the database for its score: how often at most, and for how long at most. */
  feedbackDrainEveryMs: 500,
  feedbackDrainMs: 2_000,
  /** Questions to the reader thread that wait at once. */
  readsMax: 100,
} as const;
