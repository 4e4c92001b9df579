import { Composer, type CST, type Document, Parser } from "yaml";
import { BOUNDS } from "../bounds.ts";
import { newProblems, type Problems } from "../problems.ts";
import type { ConfigProblem } from "../snapshot.ts";
import type { MapNode } from "./node.ts";
import { type PlaceOf, placesIn } from "./place-of.ts";
import { syntaxMessage } from "./syntax-message.ts";
import { toTree } from "./tree.ts";

/**
 * A YAML 1.2 document that is one map, as a tree with places; null with the reasons when it is not one.
 * `file` is the name that places carry. A file with nothing in it is an empty map.
 */
export function parseYaml(text: string, file: string): { tree: MapNode | null; problems: ConfigProblem[] } {
  const problems = newProblems();
  const tree = parse(text, file, problems);
  return { tree, problems: problems.all };
}

function parse(text: string, file: string, problems: Problems): MapNode | null {
  const placeOf = placesIn(text, file);
  const refuse = (offset: number, message: string): null => {
    problems.error(placeOf(offset), "", message);
    return null;
  };
  if (text.startsWith("\uFEFF")) {
    return refuse(0, "starts with a byte order mark; save it as UTF-8 without one (in Notepad: `UTF-8`)");
  }
  if (text.includes("\uFFFD") || text.includes("\0")) {
    return refuse(text.search(/[\uFFFD\0]/), "is not UTF-8 text here; save it as UTF-8");
  }
  const tokens = [...new Parser().parse(text)];
  if (depthOf(tokens) > BOUNDS.depthMax) return refuse(0, `is nested deeper than ${BOUNDS.depthMax} levels`);
  const options = { version: "1.2", schema: "core", merge: false, uniqueKeys: false } as const;
  const [document, second] = [...new Composer(options).compose(tokens, true, text.length)];
  if (!document) return refuse(0, "holds no document");
  if (second) refuse(second.range[0], "a second document begins here (`---`); a config is one document");
  reportSyntax(document, placeOf, problems);
  if (problems.hasErrors()) return null;
  return toTree(document, placeOf, problems);
}

function reportSyntax(document: Document, placeOf: PlaceOf, problems: Problems): void {
  if (document.directives?.yaml.version !== "1.2") {
    problems.error(placeOf(0), "", "only YAML 1.2 is read; remove the %YAML line");
  }
  for (const error of [...document.errors, ...document.warnings]) {
    problems.error(placeOf(error.pos[0]), "", syntaxMessage(error.code, error.message));
  }
}

/**
 * Nesting of a text, from its tokens. The composer recurses, and a file of nothing but `[` would end the process
 * inside it, so this is asked first.
 */
function depthOf(tokens: readonly CST.Token[]): number {
  let deepest = 0;
  for (const token of tokens) {
    const open: { token: unknown; depth: number }[] = [{ token, depth: 0 }];
    for (let next = open.pop(); next; next = open.pop()) {
      const { items, value } = (next.token ?? {}) as { items?: { key?: unknown; value?: unknown }[]; value?: unknown };
      deepest = Math.max(deepest, next.depth);
      if (typeof value === "object") open.push({ token: value, depth: next.depth });
      for (const item of items ?? []) {
        open.push({ token: item.key, depth: next.depth + 1 }, { token: item.value, depth: next.depth + 1 });
      }
    }
  }
  return deepest;
}
