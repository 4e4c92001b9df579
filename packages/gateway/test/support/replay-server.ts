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

/** Header that names the place a record was put up at, for callers who have several up at once. */
export const PLACE_HEADER = "x-replay-place";

/** A server that answers every request with the record that was put up last, at the place the request names. */
export interface ReplayServer {
  url: string;
  /** Puts a record up; `cut` cuts its body into pieces of that many bytes, each a write of its own. */
  serve(record: TrafficRecord, cut?: number, place?: string): void;
  seen(place?: string): Seen | null;
  close(): Promise<void>;
}

/** Starts a replay server on a free loopback port. */
export async function startReplayServer(): Promise<ReplayServer> {
  const current = new Map<string, { record: TrafficRecord; cut: number | undefined }>();
  const seen = new Map<string, Seen>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const place = String(request.headers[PLACE_HEADER] ?? "");
      const body = Buffer.concat(chunks).toString("utf8");
      seen.set(place, { path: request.url ?? "", headers: request.headers, body });
      const served = current.get(place);
      if (served) replay(served.record, served.cut, response);
      else response.writeHead(500).end("no record");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(record, cut, place = "") {
      current.set(place, { record, cut });
      seen.delete(place);
    },
    seen: (place = "") => seen.get(place) ?? null,
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

const TURNS_MAX = 400;

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
  // Every piece is a chunk of its own; a long body sends several in one turn, so that small cuts do not take seconds.
  const piecesATurn = Math.ceil(bytes.length / cut / TURNS_MAX);
  let at = 0;
  const next = (): void => {
    for (let piece = 0; piece < piecesATurn && at < bytes.length; piece++) {
      response.write(bytes.subarray(at, at + cut));
      at += cut;
    }
    if (at >= bytes.length) response.end();
    else setImmediate(next);
  };
  next();
}
