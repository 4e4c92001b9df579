/**
 * The same text in memory of its own. A text that was cut out of a longer one keeps all of that in memory, and what is read from a
 * spool is cut out of half a megabyte.
 */
export function detached(text: string): string {
  return Buffer.from(text).toString();
}
