/** A cut before `at` would part a surrogate pair. */
export function splitsPair(text: string, at: number): boolean {
  return isWithin(text.charCodeAt(at), 0xdc00) && isWithin(text.charCodeAt(at - 1), 0xd800);
}

function isWithin(unit: number, first: number): boolean {
  return unit >= first && unit < first + 0x400;
}
