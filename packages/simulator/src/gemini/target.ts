import type { Exchange } from "../exchange.ts";

/** What a path of the Gemini API, or of Vertex AI's Gemini, asks for. */
export interface Target {
  readonly model: string;
  readonly method: string;
  readonly vertex: boolean;
  /** A stream is server-sent events; false = one JSON array. */
  readonly sse: boolean;
  readonly key: string | null;
}

const PATH =
  /^\/(?:v1|v1beta|v1beta1)(\/projects\/[^/]+\/locations\/[^/]+\/publishers\/google)?\/models\/(.+):([a-zA-Z]+)$/;

/** Reads `/v1beta/models/{model}:{method}`; null when the path is none such. */
export function targetOf({ path, req }: Pick<Exchange, "path" | "req">): Target | null {
  const match = PATH.exec(path);
  const [, vertex, model, method] = match ?? [];
  if (model === undefined || method === undefined) return null;
  const query = queryOf(req.url ?? "");
  return {
    model: decoded(model),
    method,
    vertex: vertex !== undefined,
    sse: query.get("alt") === "sse",
    key: query.get("key"),
  };
}

/** The query of a URL. */
export function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
