const KNOWN: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "a tab stands where YAML wants spaces; indent with spaces only",
  BLOCK_AS_IMPLICIT_KEY: "a key cannot stand here: look for a wrong indent, or a `:` in a text that wants quotes",
  MULTILINE_IMPLICIT_KEY: "a key must stand on one line: look for a wrong indent or a missing `:`",
  BAD_INDENT: "the indent is wrong, or a bracket above is not closed",
};

/** What a syntax error of the YAML parser means to someone who writes a config. */
export function syntaxMessage(code: string, message: string): string {
  const known = KNOWN[code];
  if (known !== undefined) return known;
  if (code === "TAG_RESOLVE_FAILED") return `${lowerFirst(message)}; tags have no meaning in a config`;
  return `not valid YAML: ${lowerFirst(message)}`;
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}
