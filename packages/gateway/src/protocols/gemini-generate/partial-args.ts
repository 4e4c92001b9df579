import { LIMITS } from "../../core/limits.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { pick, pickList, pickString } from "./fields.ts";

/** Names that are no property of anybody's arguments. */
const FORBIDDEN = new Set(["__proto__", "constructor", "prototype"]);

/** A string that is still being written, in pieces. */
interface OpenString {
  holder: Fields | unknown[];
  key: string | number;
  pieces: string[];
}

/**
 * The arguments of one call that Vertex streams piece by piece (`streamFunctionCallArguments`, WIRE F3): each piece says
 * where it belongs (`$.recipe.steps[1]`) and a string may come in several, until one without `willContinue`.
 */
export class PartialArgs {
  readonly #root: Fields = {};
  readonly #strings = new Map<string, OpenString>();
  #places = 0;

  /** Takes the `partialArgs` of one event. Throws for a path that is none. */
  add(list: readonly unknown[]): void {
    for (const piece of list) if (isObject(piece)) this.#addPiece(piece);
  }

  /** The arguments so far, as JSON. */
  json(): string {
    for (const { holder, key, pieces } of this.#strings.values()) (holder as Fields)[key] = pieces.join("");
    return JSON.stringify(this.#root);
  }

  #addPiece(piece: Fields): void {
    const path = pickString(piece, "jsonPath") ?? "$";
    const text = pick(piece, "stringValue");
    const open = this.#strings.get(path);
    if (open && typeof text === "string") {
      open.pieces.push(text);
      return;
    }
    const steps = stepsOf(path);
    const last = steps.pop();
    if (last === undefined) return;
    this.#count(1);
    let holder: Fields | unknown[] = this.#root;
    steps.forEach((step, index) => {
      holder = this.#child(holder, step, steps[index + 1] ?? last);
    });
    if (typeof text === "string") this.#strings.set(path, { holder, key: last, pieces: [text] });
    this.#put(holder, last, typeof text === "string" ? text : givenValue(piece));
  }

  #child(holder: Fields | unknown[], step: string | number, next: string | number): Fields | unknown[] {
    const found = Object.hasOwn(holder, step) ? (holder as Fields)[step] : undefined;
    if (isObject(found) || Array.isArray(found)) return found;
    const made: Fields | unknown[] = typeof next === "number" ? [] : {};
    this.#put(holder, step, made);
    return made;
  }

  #put(holder: Fields | unknown[], key: string | number, value: unknown): void {
    // What an index leaps over is written as so many nulls.
    if (Array.isArray(holder) && typeof key === "number") this.#count(Math.max(0, key - holder.length));
    (holder as Fields)[key] = value;
  }

  #count(places: number): void {
    this.#places += places;
    if (this.#places > LIMITS.streamItemsMax) throw new Error(`a tool call in over ${LIMITS.streamItemsMax} pieces`);
  }
}

/** The steps of a JSON path of names and indices: `$.a.b[0]`, `$['a b']`. */
function stepsOf(path: string): (string | number)[] {
  const steps: (string | number)[] = [];
  const form = /\.([^.[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/gy;
  let at = 1;
  form.lastIndex = at;
  for (let found = form.exec(path); found; found = form.exec(path)) {
    const [, name, index, single, double] = found;
    const step = index === undefined ? (name ?? (single ?? double ?? "").replace(/\\(.)/g, "$1")) : Number(index);
    if (typeof step === "number" ? step >= LIMITS.streamItemsMax : FORBIDDEN.has(step)) throw badPath();
    steps.push(step);
    at = form.lastIndex;
  }
  if (path[0] !== "$" || at !== path.length) throw badPath();
  if (steps.length > LIMITS.jsonDepthMax) throw badPath();
  return steps;
}

function badPath(): Error {
  return new Error("a tool call's arguments come with a path that is none");
}

function givenValue(piece: Fields): unknown {
  const number = pick(piece, "numberValue");
  if (number !== undefined) return number;
  const flag = pick(piece, "boolValue");
  if (flag !== undefined) return flag;
  // `pick` takes null for absent, and null is what is said here.
  if (pickList(piece, "listValue").length > 0) return pickList(piece, "listValue");
  return pick(piece, "structValue") ?? null;
}
