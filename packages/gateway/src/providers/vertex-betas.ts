/** Betas that Claude takes on Vertex, and what they are called there. Any other is a 400: it is left out, and told (ruling 17). */
const BETAS: ReadonlyMap<string, string> = new Map(
  [
    ...["claude-code-20250219", "interleaved-thinking-2025-05-14", "context-1m-2025-08-07"],
    ...["context-management-2025-06-27", "compact-2026-01-12", "compact-2026-09-04"],
    ...["computer-use-2025-01-24", "computer-use-2025-11-24", "tool-search-tool-2025-10-19"],
    ...["web-search-2025-03-05", "per-turn-control-2026-07-01"],
    ...["thinking-binding-controls-2026-08-01", "thinking-display-updates-2026-08-18"],
  ].map((name): [string, string] => [name, name]),
).set("advanced-tool-use-2025-11-20", "tool-search-tool-2025-10-19");
/** Refused where tokens are only counted. */
const NOT_COUNTED = "web-search-2025-03-05";
const NONE: readonly string[] = [];

/** Anthropic's headers for Vertex, flat: the version stands in the body, and of the betas only those go that are known there. */
export function vertexBetas(
  own: readonly string[],
  counting: boolean,
): { headers: readonly string[]; dropped: readonly string[] } {
  if (own.length === 0) return { headers: own, dropped: NONE };
  const headers: string[] = [];
  const dropped: string[] = [];
  for (let at = 0; at + 1 < own.length; at += 2) {
    const [name = "", value = ""] = [own[at], own[at + 1]];
    if (name === "anthropic-version") continue;
    if (name !== "anthropic-beta") {
      headers.push(name, value);
      continue;
    }
    const taken = new Set<string>();
    for (const beta of value.split(",").map((one) => one.trim())) {
      const known = counting && beta === NOT_COUNTED ? undefined : BETAS.get(beta);
      if (known !== undefined) taken.add(known);
      else if (beta !== "") dropped.push(`anthropic-beta:${beta.slice(0, 64)}`);
    }
    if (taken.size > 0) headers.push(name, [...taken].join(","));
  }
  return { headers, dropped };
}
