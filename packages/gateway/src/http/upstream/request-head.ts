import type { UpstreamRequest } from "../../core/transport.ts";

/** Characters of a header's name (RFC 9110), lower case. */
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** What cannot stand in a value. Written as Latin-1, characters over 0xff would lose their upper byte and could become a line end. */
const NOT_OF_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const NOT_OF_A_PATH = /[^\x21-\x7e]/;
/** Said by us, and once: a second one would be read one way by one server and another way by the next. */
const OWN: ReadonlySet<string> = new Set(["host", "content-length", "transfer-encoding"]);

const NONE: readonly Buffer[] = [];
const LENGTH = "content-length: ";
const ZERO = 48;

/** Requests up to this size are one piece. A larger body costs less as a piece of its own than copied. */
const JOIN_BYTES_MAX = 4 * 1024;

/** A request as it goes on the wire. */
export interface RequestBytes {
  /** Its head, and its body where it is small. Text is of Latin-1: its bytes, one a character. */
  first: Buffer | string;
  /** Pieces of the body that is not in it; null: there are none. */
  rest: readonly Buffer[] | null;
}

/** Writes the requests to one host. */
export class RequestHeads {
  readonly #hostLine: string;
  #lastHeaders: readonly string[] | null = null;
  #lastLines = "";
  #lastMethod = "";
  #lastPath = "";
  #lastTellsLength = false;
  /** What a head like the last one begins with: all that stands before the length of its body. */
  #start = "";
  #startBytes = Buffer.alloc(0);

  /** `host` as in a URL: IPv6 in brackets, the port where it is not the scheme's own. */
  constructor(host: string) {
    this.#hostLine = `host: ${host}\r\n`;
  }

  /** Throws for what would not be read as it is meant. The body is not changed, and may not be until it is sent. */
  write({ method, path, headers, body }: UpstreamRequest): RequestBytes {
    // A POST without a body says so; some servers wait for one else.
    const tellsLength = body !== null || method === "POST";
    this.#takeStart(method, path, headers, tellsLength);
    if (typeof body === "string") return { first: `${this.#start}${body.length}\r\n\r\n${body}`, rest: null };
    const start = this.#startBytes;
    const bodyBytes = body === null ? 0 : body.length;
    const digits = tellsLength ? digitsOf(bodyBytes) : 0;
    const end = tellsLength ? "\r\n\r\n" : "\r\n";
    const headBytes = start.length + digits + end.length;
    const joins = headBytes + bodyBytes <= JOIN_BYTES_MAX;
    const first = Buffer.allocUnsafe(joins ? headBytes + bodyBytes : headBytes);
    first.set(start);
    let at = start.length + digits;
    for (let left = bodyBytes, i = 1; i <= digits; i++, left = Math.floor(left / 10))
      first[at - i] = ZERO + (left % 10);
    for (let i = 0; i < end.length; i++) first[at++] = end.charCodeAt(i);
    const pieces = body === null ? NONE : Buffer.isBuffer(body) ? [body] : body.pieces;
    if (!joins) return { first, rest: bodyBytes > 0 ? pieces : null };
    for (const piece of pieces) {
      first.set(piece, at);
      at += piece.length;
    }
    return { first, rest: null };
  }

  /** A provider hands over the same list of headers for every call that forwards nothing of its client's. */
  #takeStart(method: string, path: string, headers: readonly string[], tellsLength: boolean): void {
    const isSame = headers === this.#lastHeaders && method === this.#lastMethod && path === this.#lastPath;
    if (isSame && tellsLength === this.#lastTellsLength) return;
    if (!path.startsWith("/") || NOT_OF_A_PATH.test(path))
      throw new Error("a path that is not percent-encoded, or does not begin with a slash");
    const lines = this.#lines(headers);
    this.#start = `${method} ${path} HTTP/1.1\r\n${lines}${tellsLength ? LENGTH : ""}`;
    this.#startBytes = Buffer.from(this.#start, "latin1");
    this.#lastMethod = method;
    this.#lastPath = path;
    this.#lastTellsLength = tellsLength;
  }

  /** Each character a byte. */
  #lines(headers: readonly string[]): string {
    if (headers === this.#lastHeaders) return this.#lastLines;
    let lines = this.#hostLine;
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] ?? "";
      const value = headers[i + 1] ?? "";
      if (!NAME.test(name) || OWN.has(name)) throw new Error("a header that cannot be sent, by its name");
      // Its value may be secret.
      if (NOT_OF_A_VALUE.test(value)) throw new Error(`header ${name} holds a line end, or another such character`);
      lines += `${name}: ${value}\r\n`;
    }
    this.#lastHeaders = headers;
    this.#lastLines = lines;
    return lines;
  }
}

/** How many decimal digits a whole number has. */
function digitsOf(value: number): number {
  let digits = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++;
  return digits;
}
