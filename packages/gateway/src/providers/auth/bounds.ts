/** Bounds of what fetches tokens. */
export const TOKEN_BOUNDS = {
  /** One call to who gives tokens, ms, and its connection. */
  fetchMs: 10_000,
  connectMs: 5_000,
  /** Its answer: a token of a few KiB, or an error. */
  answerBytesMax: 256 * 1024,
  /** A token on the wire; it goes into a header. */
  tokenCharsMax: 32 * 1024,
  /** Words of an error that are repeated. */
  reasonCharsMax: 200,
  /** Longest a token is believed to live, ms. */
  lifeMsMax: 24 * 3_600_000,
  /** How long before its end a token is replaced, ms; at most this part of its life. */
  aheadMs: 300_000,
  aheadPart: 5,
  /** This near its end a token is not sent any more, ms; at most a tenth of its life. */
  lateMs: 10_000,
  /** Between two tries while no token is given, ms: doubling from the first to the last. */
  backOffFirstMs: 1_000,
  backOffLastMs: 30_000,
  /** A provider that has refused no token for this long starts from the beginning, ms. */
  calmMs: 60_000,
} as const;
