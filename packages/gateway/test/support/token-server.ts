import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One call for a token. */
export interface TokenHit {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  form: URLSearchParams;
}

/** How a server of tokens answers. */
export type TokenAnswer = (hit: TokenHit, response: ServerResponse) => void;

/** A server of tokens: `token-1`, `token-2`, … unless it is told to answer in another way. */
export interface TokenServer {
  url: string;
  hits: TokenHit[];
  /** What it does from now on; null: gives tokens again. */
  answer(how: TokenAnswer | null): void;
  /** For how many seconds the tokens it gives hold. */
  lifeS: number;
  close(): Promise<void>;
}

/** Answers with a JSON body. */
export function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** Starts one on a free loopback port. It says that it is Google's metadata server to whoever asks as such. */
export async function startTokenServer(): Promise<TokenServer> {
  const hits: TokenHit[] = [];
  let how: TokenAnswer | null = null;
  let given = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("error", () => {});
    response.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const url = new URL(request.url ?? "", "http://token");
      const form = new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
      const { method = "", headers } = request;
      const hit = { method, path: url.pathname, query: url.searchParams, headers, form };
      hits.push(hit);
      if (how) return how(hit, response);
      const body = { access_token: `token-${++given}`, expires_in: self.lifeS, token_type: "Bearer" };
      sendJson(response, 200, body, headers["metadata-flavor"] ? { "metadata-flavor": "Google" } : {});
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const self: TokenServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hits,
    lifeS: 3_600,
    answer(next) {
      how = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return self;
}
