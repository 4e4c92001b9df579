import type { ServerResponse } from "node:http";
import { chatAnswer, chatChunk, startUpstream, type Upstream, type UpstreamHit } from "./upstream.ts";

/** An upstream of OpenAI's kind that takes some keys and refuses the others. */
export interface KeyedUpstream extends Upstream {
  /** Keys that it takes now. */
  keys: Set<string>;
  /** What it does with a key that it does not take. */
  refusal: { status: number; body: unknown };
  /** Answered while the key is otherwise good; null: as usual. */
  fault: { status: number; body: unknown } | null;
  /** Streams that are held open. */
  held: ServerResponse[];
  /** Ends the held streams as they should. */
  release(): void;
  /** How many chat calls came with a key. */
  calls(key: string): number;
  /** Chat calls that were turned away. */
  refused: number;
}

const BAD_KEY = {
  status: 401,
  body: { error: { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key" } },
};

/** Starts one. A chat call that asks for a stream is held after its first words. */
export async function startKeyedUpstream(...keys: string[]): Promise<KeyedUpstream> {
  const upstream = await startUpstream();
  const seen = new Map<string, number>();
  const made: KeyedUpstream = {
    ...upstream,
    ...{ keys: new Set(keys), refusal: BAD_KEY, fault: null, held: [], refused: 0 },
    release() {
      for (const response of made.held.splice(0))
        response.end(`${chatChunk({ content: " end" })}${chatChunk({}, "stop")}data: [DONE]\n\n`);
    },
    calls: (key) => seen.get(key) ?? 0,
  };
  upstream.answer((response, hit) => {
    const key = String(hit.headers.authorization).replace("Bearer ", "");
    const isCall = hit.path === "/v1/chat/completions";
    if (isCall) seen.set(key, (seen.get(key) ?? 0) + 1);
    if (!made.keys.has(key)) {
      if (isCall) made.refused++;
      const body = JSON.stringify(made.refusal.body).replaceAll("KEY", key);
      response.writeHead(made.refusal.status, { "content-type": "application/json" }).end(body);
      return;
    }
    const { fault } = made;
    if (fault) json(response, fault.status, JSON.stringify(fault.body));
    else if (hit.path === "/v1/models") json(response, 200, '{"object":"list","data":[]}');
    else answer(made, response, hit);
  });
  return made;
}

function answer({ held }: KeyedUpstream, response: ServerResponse, hit: UpstreamHit): void {
  const { stream } = JSON.parse(hit.body.toString("utf8")) as { stream?: boolean };
  if (!stream) return json(response, 200, chatAnswer("hello"));
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(chatChunk({ role: "assistant", content: "begin" }));
  held.push(response);
}

function json(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
