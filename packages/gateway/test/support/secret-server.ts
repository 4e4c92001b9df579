import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One call as a secret manager saw it. */
export interface Asked {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** What is wrong with a manager, if anything. */
export type Trouble = "none" | "hangs" | "garbage" | "error" | "denied";

/** A local server in the place of a secret manager. */
export interface SecretServer {
  readonly url: string;
  readonly port: number;
  readonly asked: Asked[];
  /** From now on it answers like this. */
  trouble(kind: Trouble): void;
  /** Stops listening; `start` listens on the same port again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Answers a call that the server is well enough to answer. */
export type Answering = (asked: Asked, reply: (status: number, body?: unknown) => void) => void;

/** Starts one on a free loopback port. `denied` is how it says no. */
export async function startSecretServer(answering: Answering, denied: { status: number; body: unknown }) {
  const asked: Asked[] = [];
  let trouble: Trouble = "none";
  const handle = (one: Asked, response: ServerResponse): void => {
    const reply = (status: number, body: unknown = {}): void => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      response.writeHead(status, { "content-type": "application/json" }).end(text);
    };
    asked.push(one);
    if (trouble === "hangs") return;
    if (trouble === "garbage") return reply(200, "<html>a proxy's page</html>");
    if (trouble === "error") return reply(503, { errors: ["sealed"] });
    if (trouble === "denied") return reply(denied.status, denied.body);
    answering(one, reply);
  };
  const make = (): Server =>
    createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", () => {});
      request.on("end", () => {
        const body = Buffer.concat(chunks).toString("utf8");
        const { method = "", url = "", headers } = request;
        handle({ method, path: url, headers, body }, response);
      });
    });
  let server = make();
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve()));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const made: SecretServer = {
    url: `http://127.0.0.1:${port}`,
    port,
    asked,
    trouble(kind) {
      trouble = kind;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    async start() {
      server = make();
      await listen(port);
    },
  };
  return made;
}
