import { type IncomingMessage, request } from "node:http";
import { onTestFinished } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../src/index.ts";

/** Any JSON, as tests read it. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into answers whose shape it is about to check
export type Loose = any;

/** Starts a simulator that closes with the test. */
export async function simulate(options?: SimulatorOptions): Promise<Simulator> {
  const simulator = await startSimulator(options);
  onTestFinished(() => simulator.close());
  return simulator;
}

/** POSTs a chat request with one user message. */
export function chat(
  simulator: Simulator,
  model: string,
  extra: object = {},
  init: RequestInit = {},
): Promise<Response> {
  const body = { model, messages: [{ role: "user", content: "alpha beta gamma" }], ...extra };
  return fetch(`${simulator.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(body), ...init });
}

/** The JSON of a chat answer. */
export async function chatJson(simulator: Simulator, model: string, extra: object = {}): Promise<Loose> {
  return (await chat(simulator, model, extra)).json();
}

/** The `data:` payloads of a streamed chat answer, as text. */
export async function payloads(simulator: Simulator, model: string, extra: object = {}): Promise<string[]> {
  const text = await (await chat(simulator, model, { stream: true, ...extra })).text();
  return text.split(/\r?\n/).flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
}

/** The chunks of a streamed chat answer, without the end marker. */
export async function chunks(simulator: Simulator, model: string, extra: object = {}): Promise<Loose[]> {
  const all = await payloads(simulator, model, { stream_options: { include_usage: true }, ...extra });
  return all.filter((data) => data !== "[DONE]").map((data) => JSON.parse(data));
}

/** What a raw HTTP call saw: pieces as they arrived, and how it ended. */
export interface Seen {
  status: number | null;
  headers: IncomingMessage["headers"];
  pieces: Buffer[];
  body: string;
  /** Error code of the connection; null when the body ended properly. */
  error: string | null;
}

/** POSTs with node:http and reports everything, errors included. `onData` may leave early by calling `leave`. */
export function raw(
  simulator: Simulator,
  body: object,
  onData?: (piece: Buffer, leave: () => void) => void,
): Promise<Seen> {
  return new Promise((resolve) => {
    const seen: Seen = { status: null, headers: {}, pieces: [], body: "", error: null };
    const done = (error: string | null): void => {
      resolve({ ...seen, body: Buffer.concat(seen.pieces).toString(), error });
    };
    const req = request(`${simulator.url}/v1/chat/completions`, { method: "POST", agent: false }, (res) => {
      seen.status = res.statusCode ?? null;
      seen.headers = res.headers;
      res.on("data", (piece: Buffer) => {
        seen.pieces.push(piece);
        onData?.(piece, () => req.destroy());
      });
      res.on("end", () => done(null));
      res.on("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    });
    req.on("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    req.end(JSON.stringify({ messages: [{ role: "user", content: "alpha beta gamma" }], ...body }));
  });
}

/** Waits until `holds`, at most two seconds. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 2000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error("it never came true");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
