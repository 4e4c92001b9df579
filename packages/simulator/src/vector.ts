const MARKS_PER_WORD = 16;

/**
 * A unit vector made of hashed words: the same words give the same vector, shared words bring two vectors
 * closer. No meaning in it.
 */
export function embed(words: readonly string[], dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of words) {
    let state = hash(word);
    for (let i = 0; i < MARKS_PER_WORD; i++) {
      state = scramble(state);
      const at = state % dimensions;
      vector[at] = (vector[at] ?? 0) + ((state >>> 16) & 1 ? 1 : -1);
    }
  }
  const length = lengthOf(vector);
  if (length === 0) vector[0] = 1;
  else
    vector.forEach((value, i) => {
      vector[i] = value / length;
    });
  return vector;
}

function lengthOf(vector: Float32Array): number {
  let sum = 0;
  for (const value of vector) sum += value * value;
  return Math.sqrt(sum);
}

/** FNV-1a over UTF-16 units, as an unsigned 32-bit number. */
function hash(word: string): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < word.length; i++) state = Math.imul(state ^ word.charCodeAt(i), 0x01000193);
  return state >>> 0;
}

/** One step of a 32-bit mixer (the finalizer of MurmurHash3 after an odd stride). */
function scramble(seed: number): number {
  let state = (seed + 0x9e3779b9) | 0;
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}
