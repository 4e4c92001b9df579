/** The bytes of a text as UTF-8, as text of Latin-1: one a character. Those of ASCII are as they were. */
export function utf8AsLatin1(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString("latin1");
}
