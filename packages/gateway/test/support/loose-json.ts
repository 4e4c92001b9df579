/** A JSON object of which nothing is known. */
export type Json = Record<string, unknown>;

/** What stands at a path; undefined where it breaks off. Numbers are places in arrays. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Json)[step];
  }
  return here;
}

/** The text at a path; empty for anything else. */
export function textAt(value: unknown, ...path: (string | number)[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The number at a path; 0 for anything else. */
export function numberAt(value: unknown, ...path: (string | number)[]): number {
  const found = at(value, ...path);
  return typeof found === "number" ? found : 0;
}

/** The entries of the array at a path; none for anything else. */
export function listAt(value: unknown, ...path: (string | number)[]): unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The payloads of an event stream as JSON, up to its `[DONE]`. */
export function payloadsOf(text: string): Json[] {
  const payloads: Json[] = [];
  for (const block of text.split(/\r\n\r\n|\n\n|\r\r/)) {
    const lines = block.split(/\r\n|\n|\r/).flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trim()] : []));
    const data = lines.join("\n");
    if (data === "[DONE]") break;
    if (data !== "") payloads.push(JSON.parse(data) as Json);
  }
  return payloads;
}
