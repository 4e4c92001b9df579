import type { IncomingHttpHeaders } from "node:http";
import { LIMITS } from "../core/limits.ts";

/** Of these node takes the first, where others are joined (see `message.headers` in its documentation). */
const FIRST_ONLY: ReadonlySet<string> = new Set([
  "age",
  "authorization",
  "content-length",
  "content-type",
  "etag",
  "expires",
  "from",
  "host",
  "if-modified-since",
  "if-unmodified-since",
  "last-modified",
  "location",
  "max-forwards",
  "proxy-authorization",
  "referer",
  "retry-after",
  "server",
  "user-agent",
]);

/** A name as a client wrote it, and what becomes of it. */
interface Name {
  given: string;
  name: string;
  repeated: "first" | "joined" | "joined as cookies" | "listed";
}

/**
 * Makes of a request's header lines what node makes of them. A client's requests have the same names in the same order: what
 * stood at a place before is compared, and not made lower case and looked up again. No value is kept.
 */
export class RequestHeaders {
  /** By the number of names. Every place has the last name that stood there. */
  readonly #lists: Name[][] = [];

  /** `lines` are flat: name, value; names are tokens. */
  read(lines: readonly string[]): IncomingHttpHeaders {
    const headers: Record<string, string | string[] | undefined> = {};
    const count = Math.min(lines.length >> 1, LIMITS.headerCountMax);
    this.#lists[count] ??= [];
    const names = this.#lists[count];
    for (let i = 0; i < count; i++) {
      const given = lines[2 * i] ?? "";
      const value = lines[2 * i + 1] ?? "";
      let known = names[i];
      if (known?.given !== given) {
        known = nameOf(given);
        if (given.length <= LIMITS.headerNameCharsKept) names[i] = known;
      }
      const { name, repeated } = known;
      const had = headers[name];
      if (repeated === "first") headers[name] = had ?? value;
      else if (repeated === "listed") headers[name] = Array.isArray(had) ? [...had, value] : [value];
      // Names like "constructor" are in every object.
      else if (typeof had !== "string") headers[name] = value;
      else headers[name] = had + (repeated === "joined" ? ", " : "; ") + value;
    }
    return headers;
  }
}

function nameOf(given: string): Name {
  const name = given.toLowerCase();
  if (FIRST_ONLY.has(name)) return { given, name, repeated: "first" };
  if (name === "set-cookie") return { given, name, repeated: "listed" };
  return { given, name, repeated: name === "cookie" ? "joined as cookies" : "joined" };
}
