/** The bounds of alerts. */
export const ALERT_BOUNDS = {
  /** What is told of once an hour, unless its alert says otherwise. */
  everyMs: 3_600_000,
  /** (kind, subject) pairs that are known to fire; of more, the oldest is forgotten. */
  subjectsMax: 1_000,
  /** Messages that wait for one target; of more, the oldest is dropped. */
  queueMax: 100,
  /** The text of an alert. */
  textCharsMax: 1_000,
  /** For a connection, and for a whole POST. */
  connectMs: 3_000,
  postMs: 10_000,
  /** Of a target's answer. */
  answerBytesMax: 16 * 1024,
  /** Waits before the second and every later try of a message. */
  retryMs: [1_000, 5_000, 25_000],
  /** How long before a model ends it is told of, how often that is looked at, and, a little less, how often told. */
  retiringMs: 30 * 86_400_000,
  retiringLookMs: 86_400_000,
  retiringEveryMs: 82_800_000,
} as const;
