import { STATUS_CODES, validateHeaderName } from "node:http";
import { LIMITS } from "../core/limits.ts";

/** Names that node looks at: what they say changes what it writes, or how it goes on. */
const TELLING: ReadonlySet<string> = new Set([
  "connection",
  "content-disposition",
  "content-length",
  "cookie",
  "date",
  "expect",
  "keep-alive",
  "trailer",
  "transfer-encoding",
]);
/** What node refuses in a value: all that could end its line, and what is no byte. */
const REFUSED = /[^\t\x20-\x7e\x80-\xff]/;

/** The last value of a name, checked, with its line. */
interface Line {
  value: string;
  text: string;
}

/**
 * The heads of whole answers on connections that go on, byte for byte as node writes them. Most of a head is what it was in
 * the answer before: that is not checked and put together again.
 */
export class AnswerHeads {
  /** By name as it was given; bounded, and only of names that are good. */
  readonly #lines = new Map<string, Line>();
  readonly #end: string;
  #second = 0;
  #date = "";

  /** `keepAliveMs`: the server's, which a head tells. */
  constructor(keepAliveMs: number) {
    this.#end = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n\r\n`;
  }

  /** Null where node would write another head, or refuse: it has to be asked. `headers` are flat: name, value. */
  head(status: number, headers: readonly string[], bodyBytes: number): string | null {
    const reason = STATUS_CODES[status];
    if (reason === undefined || status < 200 || status === 204 || status === 304) return null;
    let text = `HTTP/1.1 ${status} ${reason}\r\n`;
    for (let i = 0; i < headers.length; i += 2) {
      const line = this.#line(headers[i], headers[i + 1]);
      if (line === null) return null;
      text += line;
    }
    return `${text}content-length: ${bodyBytes}\r\nDate: ${this.#now()}\r\n${this.#end}`;
  }

  #line(name: string | undefined, value: string | undefined): string | null {
    if (name === undefined || value === undefined) return null;
    const last = this.#lines.get(name);
    if (last?.value === value) return last.text;
    if (REFUSED.test(value) || (!last && !isPlain(name))) return null;
    const text = `${name}: ${value}\r\n`;
    if (last) {
      last.value = value;
      last.text = text;
    } else if (this.#lines.size < LIMITS.answerHeaderNamesMax) this.#lines.set(name, { value, text });
    return text;
  }

  #now(): string {
    const now = Date.now();
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#date = new Date(now).toUTCString();
    }
    return this.#date;
  }
}

function isPlain(name: string): boolean {
  if (TELLING.has(name.toLowerCase())) return false;
  try {
    validateHeaderName(name);
    return true;
  } catch {
    return false;
  }
}
