import type { ServerResponse } from "node:http";
import { chatAnswer, startUpstream } from "./upstream.ts";

/** What a model does with its calls. */
export type Behaviour = (response: ServerResponse) => void;

/** An upstream of chat completions each of whose models does what a test says, and answers where it says nothing. */
export interface ModelUpstream {
  /** As `base_url`. */
  url: string;
  /** What a model does with its calls from now on. */
  does(model: string, behaviour: Behaviour): void;
  /** Keeps a model's calls waiting from now on, until they are released. */
  holds(model: string): { release(): void };
  /** Calls of a model that have come. */
  hits(model: string): number;
  close(): Promise<void>;
}

/** Answers as usual. */
const answers: Behaviour = (response) =>
  void response.writeHead(200, { "content-type": "application/json" }).end(chatAnswer("hello"));

/** Fails with a status. */
export function fails(status: number, headers: Record<string, string> = {}): Behaviour {
  const body = JSON.stringify({ error: { message: "no", type: "error", param: null, code: null } });
  return (response) => void response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
}

/** Starts one on a free loopback port. */
export async function startModelUpstream(): Promise<ModelUpstream> {
  const upstream = await startUpstream();
  const behaviours = new Map<string, Behaviour>();
  const hits = new Map<string, number>();
  upstream.answer((response, { body }) => {
    const { model } = JSON.parse(body.toString("utf8")) as { model: string };
    hits.set(model, (hits.get(model) ?? 0) + 1);
    (behaviours.get(model) ?? answers)(response);
  });
  return {
    url: `${upstream.url}/v1`,
    does: (model, behaviour) => void behaviours.set(model, behaviour),
    holds(model) {
      const held: ServerResponse[] = [];
      behaviours.set(model, (response) => void held.push(response));
      return {
        release() {
          behaviours.delete(model);
          for (const response of held.splice(0)) answers(response);
        },
      };
    },
    hits: (model) => hits.get(model) ?? 0,
    close: () => upstream.close(),
  };
}
