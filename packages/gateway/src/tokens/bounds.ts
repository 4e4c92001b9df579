/** Bounds of the tokenizer. Characters are UTF-16 units. */
export const TOKEN_LIMITS = {
  /** Characters of one request that are counted: some million tokens, more than any model reads. */
  requestCharsMax: 4 * 1024 * 1024,
  /** Requests that wait, and their characters together. */
  waitingMax: 256,
  waitingCharsMax: 32 * 1024 * 1024,
  /** Characters handed to the thread at once: at the worst, 0.3 s of work that nobody can call off. */
  sliceChars: 64 * 1024,
  /** A run of one kind of character is cut at this length: merging takes the square of it (100 KB of one letter: 11 s). */
  runCharsMax: 256,
  /** Pieces whose merge the tokenizer remembers; each can take some KB. */
  mergeCacheMax: 4_096,
  /** Heap of the thread. */
  heapMb: 256,
} as const;
