/** Bounds of the secret managers' clients. */
export const SECRET_BOUNDS = {
  /** Asked at the same time, whoever asks. */
  asksMax: 8,
  /** One question, ms. A load waits no longer than this for each round of `asksMax`. */
  askMs: 5_000,
  /** One answer. */
  answerBytesMax: 1024 * 1024,
  /** Between two tries while a manager does not answer, ms: doubling from the first to the last. */
  backOffFirstMs: 1_000,
  backOffLastMs: 60_000,
  /** Length of a secret's name that is sent anywhere. */
  nameCharsMax: 512,
} as const;
