/** Names are compared up to here; they are never as long. */
const CHARS_MAX = 64;

/** The names nearest to `wanted` by edits, at most `count`, nearest first; far ones are left out. */
export function nearest(wanted: string, names: Iterable<string>, count: number): string[] {
  const sought = wanted.toLowerCase().slice(0, CHARS_MAX);
  const bound = Math.max(2, Math.floor(sought.length / 2));
  const scored: { name: string; distance: number }[] = [];
  for (const name of names) {
    const candidate = name.toLowerCase().slice(0, CHARS_MAX);
    const contained =
      candidate.length > 2 && sought !== "" && (candidate.includes(sought) || sought.includes(candidate));
    // A length that differs by more than the bound is a distance over it: most names cost no table.
    if (!contained && Math.abs(candidate.length - sought.length) > bound) continue;
    const distance = editDistance(sought, candidate);
    if (distance <= bound || contained) scored.push({ name, distance });
  }
  scored.sort((a, b) => a.distance - b.distance || a.name.localeCompare(b.name));
  return scored.slice(0, count).map((entry) => entry.name);
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + change));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
