import { connect, type Socket } from "node:net";
import { until } from "./until.ts";

/** One HTTP answer, as it came over the wire. Header names are lower case. */
export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** A client that sends whatever bytes it is told to: what no HTTP library would send. */
export interface RawClient {
  readonly socket: Socket;
  /** Bytes that have come back so far. */
  received(): Buffer;
  /** Answers that have come back whole. */
  answers(): RawAnswer[];
  /** Resolves with the first `count` answers. */
  take(count?: number): Promise<RawAnswer[]>;
  /** Resolves once the other side has closed. */
  closed(): Promise<void>;
}

/** Connects and sends `bytes`, one write each. */
export async function rawClient(url: string, ...bytes: (string | Uint8Array)[]): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const chunks: Buffer[] = [];
  let closed = false;
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  // A peer that closes while we are still sending is what some tests are about.
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
  });
  await new Promise((resolve) => socket.once("connect", resolve));
  for (const piece of bytes) socket.write(piece);
  const received = (): Buffer => Buffer.concat(chunks);
  const answers = (): RawAnswer[] => parseAnswers(received(), closed);
  return {
    socket,
    received,
    answers,
    take: (count = 1) =>
      until(`${count} answers`, () => {
        const all = answers();
        if (all.length >= count) return all;
        if (closed) throw new Error(`closed after ${all.length} answers: ${JSON.stringify(received().toString())}`);
        return null;
      }).finally(() => socket.destroy()),
    closed: async () => void (await until("the other side to close", () => closed)),
  };
}

/** The head of a POST with a JSON body, as text. */
export function postHead(path: string, headers: Record<string, string | number>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\nhost: gateway\r\n${lines.join("")}\r\n`;
}

function parseAnswers(bytes: Buffer, closed: boolean): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let text = bytes.toString("latin1");
  while (text !== "") {
    const end = text.indexOf("\r\n\r\n");
    if (end === -1) return answers;
    const [first = "", ...lines] = text.slice(0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    if (!status) throw new Error(`not an HTTP answer: ${JSON.stringify(first)}`);
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(":");
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const body = bodyOf(text.slice(end + 4), status, headers, closed);
    if (body === null) return answers;
    if (status >= 200) answers.push({ status, headers, body: Buffer.from(body.text, "latin1").toString("utf8") });
    text = text.slice(end + 4 + body.length);
  }
  return answers;
}

function bodyOf(
  rest: string,
  status: number,
  headers: Record<string, string>,
  closed: boolean,
): { text: string; length: number } | null {
  if (status < 200) return { text: "", length: 0 };
  const length = headers["content-length"];
  if (length !== undefined) {
    return rest.length < Number(length) ? null : { text: rest.slice(0, Number(length)), length: Number(length) };
  }
  if (headers["transfer-encoding"] !== "chunked") return closed ? { text: rest, length: rest.length } : null;
  let text = "";
  for (let at = 0; ; ) {
    const line = rest.indexOf("\r\n", at);
    if (line === -1) return null;
    const size = Number.parseInt(rest.slice(at, line), 16);
    const end = line + 2 + size + 2;
    if (rest.length < end) return null;
    if (size === 0) return { text, length: end };
    text += rest.slice(line + 2, line + 2 + size);
    at = end;
  }
}
