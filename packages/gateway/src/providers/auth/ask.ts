import type { Clock } from "../../core/clock.ts";
import type { Transport, UpstreamCall, UpstreamRequest } from "../../core/transport.ts";
import { TOKEN_BOUNDS } from "./bounds.ts";

/** One small HTTP call beside the calls of clients. */
export interface Question {
  url: string;
  method: "GET" | "POST";
  /** Flat, names lower case. */
  headers: readonly string[];
  body: string | null;
  proxy: string | null;
}

/** What came back, whole. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Asks. Rejects where no whole answer comes in time, with words that hold nothing of the question. */
export type Ask = (question: Question) => Promise<Answer>;

/** Asks through the gateway's own transport, on connections of their own: `pool` is their name. `ms`: for all of it. */
export function askThrough(transport: Transport, clock: Clock, pool: string, ms: number = TOKEN_BOUNDS.fetchMs): Ask {
  return (question) =>
    new Promise((resolve, reject) => {
      let call: UpstreamCall | null = null;
      let isOver = false;
      let status = 0;
      let headers: Record<string, string> = {};
      const chunks: Buffer[] = [];
      let bytes = 0;
      const finish = (act: () => void): void => {
        if (isOver) return;
        isOver = true;
        timer.cancel();
        act();
      };
      const fail = (words: string): void =>
        finish(() => {
          call?.abort();
          reject(new Error(`${placeOf(question.url)} ${words}`));
        });
      const timer = clock.after(ms, () => fail(`did not answer within ${ms} ms`));
      const sink = {
        onSent: () => {},
        onHeaders: (given: number, all: Record<string, string>) => {
          status = given;
          headers = all;
        },
        onData: (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > TOKEN_BOUNDS.answerBytesMax) fail(`answered more than ${TOKEN_BOUNDS.answerBytesMax} bytes`);
          else chunks.push(chunk);
        },
        onEnd: () => finish(() => resolve({ status, headers, body: Buffer.concat(chunks) })),
        onError: (kind: string) => fail(`did not answer (${kind})`),
      };
      try {
        call = transport.send(requestOf(question, pool), sink);
        // It may have failed before there was anything to abort.
        if (isOver) call.abort();
      } catch (error) {
        fail(`cannot be asked (${error instanceof Error ? error.message : String(error)})`);
      }
    });
}

/** Where a question goes, without what its query may hold. */
export function placeOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

function requestOf({ url, method, headers, body, proxy }: Question, pool: string): UpstreamRequest {
  const { origin, pathname, search } = new URL(url);
  return {
    origin,
    method,
    path: pathname + search,
    headers: ["accept", "application/json", "accept-encoding", "identity", "user-agent", "sluicegate", ...headers],
    body: body === null ? null : Buffer.from(body),
    connectTimeoutMs: TOKEN_BOUNDS.connectMs,
    pool: { key: pool, connections: 2, ...(proxy !== null && { proxy }) },
  };
}
