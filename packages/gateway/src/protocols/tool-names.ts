/** Longest tool name that goes upstream: Anthropic's bound. */
const NAME_CHARS_MAX = 128;
/** Characters they do not take, and what in a name would be read as one that was replaced. */
const FOREIGN = /[^a-zA-Z0-9_-]|_(?=x[0-9a-f]{1,6}[^a-zA-Z0-9-])/gu;
const ESCAPED = /_x([0-9a-f]{1,6})_/g;

/**
 * A tool's name in the alphabet of Anthropic and OpenAI. What they do not take is written as `_x2e_`, so that the answer's
 * names can be read back without the request. Null when the result is too long or empty.
 */
export function wireToolName(name: string): string | null {
  const wire = name.replace(FOREIGN, (char) => `_x${(char.codePointAt(0) ?? 0).toString(16)}_`);
  return wire === "" || wire.length > NAME_CHARS_MAX ? null : wire;
}

/** The same for who would rather refuse a name that is too long than leave its tool out. */
export function sentToolName(name: string): string {
  return wireToolName(name) ?? name;
}

/** The name that `wireToolName` wrote. */
export function readToolName(wire: string): string {
  if (!wire.includes("_x")) return wire;
  return wire.replace(ESCAPED, (escaped, hex: string) => {
    const code = Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : escaped;
  });
}
