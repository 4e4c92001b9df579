/** Longer names are not compared: the table would cost more than the hint is worth. */
const NAME_CHARS_MAX = 100;

/** `; did you mean `x`?` with the candidate nearest to a misspelt name, or nothing when none is near. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const near = nearest(name, candidates);
  return near === null ? "" : `; did you mean \`${near}\`?`;
}

/** The candidate a misspelt name most likely stood for, or null. */
export function nearest(name: string, candidates: Iterable<string>): string | null {
  if (name.length > NAME_CHARS_MAX) return null;
  let best: string | null = null;
  let bestScore = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    if (candidate.length > NAME_CHARS_MAX) continue;
    const score = misspelling(folded(name), folded(candidate));
    if (score < bestScore) {
      best = candidate;
      bestScore = score;
    }
  }
  return best;
}

/** Case and the choice between `_` and `-` are the least of mistakes. */
function folded(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

/** 0 for the same, more for farther, infinite for another word. A beginning of the other counts as near. */
function misspelling(a: string, b: string): number {
  const distance = editDistance(a, b);
  if (distance <= Math.max(1, Math.floor(Math.min(a.length, b.length) / 3))) return distance;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (short.length >= 3 && long.startsWith(short)) return long.length - short.length;
  return Number.POSITIVE_INFINITY;
}

/** Insertions, deletions, substitutions and swaps of neighbours between two words. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      current.push(cost);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
