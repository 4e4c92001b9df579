import type { UpstreamRequest } from "../../core/transport.ts";

/** Characters of a header's name (RFC 9110), lower case. */
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** What cannot stand in a value. Written as Latin-1, characters over 0xff would lose their upper byte and could become a line end. */
const NOT_OF_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const NOT_OF_A_PATH = /[^\x21-\x7e]/;
/** Said by us, and once: a second one would be read one way by one server and another way by the next. */
const OWN: ReadonlySet<string> = new Set(["host", "content-length", "transfer-encoding"]);

/** Writes the heads of requests to one host. */
export class RequestHeads {
  readonly #hostLine: string;
  #lastHeaders: readonly string[] | null = null;
  #lastLines = "";

  /** `host` as in a URL: IPv6 in brackets, the port where it is not the scheme's own. */
  constructor(host: string) {
    this.#hostLine = `host: ${host}\r\n`;
  }

  /** The head with its blank line, each character a byte. Throws for what would not be read as it is meant. */
  write({ method, path, headers, body }: UpstreamRequest): string {
    if (!path.startsWith("/") || NOT_OF_A_PATH.test(path))
      throw new Error("a path that is not percent-encoded, or does not begin with a slash");
    const lines = this.#lines(headers);
    // A POST without a body says so; some servers wait for one else.
    const length = body ? body.length : method === "POST" ? 0 : null;
    const last = length === null ? "\r\n" : `content-length: ${length}\r\n\r\n`;
    return `${method} ${path} HTTP/1.1\r\n${lines}${last}`;
  }

  /** Header lines; a provider hands over the same list for every call that forwards nothing of its client's. */
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
