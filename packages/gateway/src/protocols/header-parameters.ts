const QUOTE = '"';
const BACKSLASH = "\\";

/**
 * A header value with parameters, `form-data; name="file"; filename=a.mp3`: its first word in lower case, and the parameters
 * in order, names in lower case, values unquoted. One walk over the text; what makes no sense is taken as it stands.
 */
export function parametersOf(header: string): [kind: string, parameters: [name: string, value: string][]] {
  const semicolon = header.indexOf(";");
  if (semicolon === -1) return [header.trim().toLowerCase(), []];
  const parameters: [string, string][] = [];
  let at = semicolon + 1;
  while (at < header.length) {
    const equals = header.indexOf("=", at);
    if (equals === -1) break;
    const name = header.slice(at, equals).trim().toLowerCase();
    const [value, end] = valueAt(header, equals + 1);
    parameters.push([name, value]);
    const next = header.indexOf(";", end);
    if (next === -1) break;
    at = next + 1;
  }
  return [header.slice(0, semicolon).trim().toLowerCase(), parameters];
}

function valueAt(header: string, from: number): [value: string, end: number] {
  let at = from;
  while (header[at] === " ") at++;
  if (header[at] !== QUOTE) {
    const semicolon = header.indexOf(";", at);
    const end = semicolon === -1 ? header.length : semicolon;
    return [header.slice(at, end).trim(), end];
  }
  let value = "";
  for (at++; at < header.length && header[at] !== QUOTE; at++) {
    // A backslash is only an escape before what would otherwise need one: old browsers send paths with them.
    const next = header[at + 1];
    if (header[at] === BACKSLASH && (next === QUOTE || next === BACKSLASH)) at++;
    value += header[at];
  }
  return [value, at + 1];
}
