import type { Place } from "../problems.ts";

/** The place of an offset into a file. */
export type PlaceOf = (offset: number) => Place;

/** Finds places in a text. The YAML parser's own counter misses lines of texts that it cannot make sense of. */
export function placesIn(text: string, file: string): PlaceOf {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    const within = Math.min(Math.max(offset, 0), text.length);
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= within) low = middle;
      else high = middle - 1;
    }
    return { file, line: low + 1, column: within - (starts[low] ?? 0) + 1 };
  };
}
