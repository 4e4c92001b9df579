/**
 * The same text in memory of its own, in one piece. One that was cut from a longer text or put together of several holds on to
 * all of them (what is read from a spool is cut out of half a megabyte), and comparing it costs several times as much.
 */
export function ownText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}

/**
 * The first characters of a text, for what is kept. They are memory of their own: a piece that is cut off a text holds on to
 * all of it, and clients and providers make theirs as long as they like.
 */
export function clippedText(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : ownText(text.slice(0, charsMax));
}
