/** The names nearest to `wanted` by edits, at most `count`, nearest first; far ones are left out. */
export function nearest(wanted: string, names: Iterable<string>, count: number): string[] {
  const bound = Math.max(2, Math.floor(wanted.length / 2));
  const scored: { name: string; distance: number }[] = [];
  for (const name of names) {
    const distance = editDistance(wanted.toLowerCase(), name.toLowerCase());
    const contained = name.length > 2 && (name.includes(wanted) || wanted.includes(name));
    if (distance <= bound || contained) scored.push({ name, distance });
  }
  scored.sort((a, b) => a.distance - b.distance || a.name.localeCompare(b.name));
  return scored.slice(0, count).map((entry) => entry.name);
}

/** Levenshtein distance; strings are cut at 64 characters, which names never reach. */
function editDistance(first: string, second: string): number {
  const a = first.slice(0, 64);
  const b = second.slice(0, 64);
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
