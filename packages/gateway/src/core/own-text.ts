/**
 * The same text for itself alone. One that was cut from a longer text or put together of several holds on to all of them, and
 * comparing it costs several times as much: for what is kept long, or compared often.
 */
export function ownText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
