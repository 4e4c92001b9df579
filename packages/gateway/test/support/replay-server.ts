import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** One recorded exchange with a provider (see the traffic folder's own README). */
export interface TrafficRecord {
  id: string;
  provider: string;
  api: string;
  stream: boolean;
  model: string | null;
  tags: string[];
  request: { method: string; path: string; headers: Record<string, string>; body: unknown };
  response: { status: number; headers: Record<string, string>; body: unknown; bodyEncoding?: string };
}

const here = dirname(fileURLToPath(import.meta.url));

/** Where recorded traffic lies: SLUICEGATE_TRAFFIC_DIR, or `shared/traffic` beside the repository; null when it is not there. */
export function trafficDir(): string | null {
  const dir = process.env["SLUICEGATE_TRAFFIC_DIR"] ?? join(here, "..", "..", "..", "..", "..", "shared", "traffic");
  return existsSync(join(dir, "index.tsv")) ? dir : null;
}

/** The records of one file, for example `openai-chat`. */
export function readTraffic(dir: string, file: string): TrafficRecord[] {
  return readFileSync(join(dir, `${file}.jsonl`), "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as TrafficRecord);
}

/** The response body as the bytes that came over the wire. */
export function responseBytes(record: TrafficRecord): Buffer {
  const { body, bodyEncoding } = record.response;
  if (bodyEncoding === "base64") return Buffer.from(String(body), "base64");
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

/** What the last request of a replay looked like. */
export interface Seen {
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A server that answers every request with the record that was put up last. */
export interface ReplayServer {
  url: string;
  /** Puts a record up; `cut` cuts its body into pieces of that many bytes, each a write of its own. */
  serve(record: TrafficRecord, cut?: number): void;
  seen(): Seen | null;
  close(): Promise<void>;
}

/** Starts a replay server on a free loopback port. */
export async function startReplayServer(): Promise<ReplayServer> {
  let current: { record: TrafficRecord; cut: number | undefined } | null = null;
  let seen: Seen | null = null;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      seen = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks).toString("utf8") };
      if (current) replay(current.record, current.cut, response);
      else response.writeHead(500).end("no record");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(record, cut) {
      current = { record, cut };
      seen = null;
    },
    seen: () => seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Headers that describe the recorded connection and its coding, not the answer. */
const FRAMING = new Set([
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "date",
]);

function replay(record: TrafficRecord, cut: number | undefined, response: ServerResponse): void {
  const headers = Object.fromEntries(
    Object.entries(record.response.headers).filter(([name]) => !FRAMING.has(name.toLowerCase())),
  );
  response.writeHead(record.response.status, headers);
  const bytes = responseBytes(record);
  if (cut === undefined) {
    response.end(bytes);
    return;
  }
  let at = 0;
  const next = (): void => {
    if (at >= bytes.length) {
      response.end();
      return;
    }
    response.write(bytes.subarray(at, at + cut));
    at += cut;
    setImmediate(next);
  };
  next();
}
