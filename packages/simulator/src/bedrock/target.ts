import type { Exchange } from "../exchange.ts";

const METHODS = ["converse", "converse-stream", "invoke", "count-tokens"] as const;

/** What a path of Bedrock's runtime asks for. */
export interface Target {
  readonly model: string;
  readonly method: (typeof METHODS)[number];
}

const PATH = /^\/model\/([^/]+)\/([a-z-]+)$/;

/** Reads `/model/{id}/{method}`, the id percent-encoded; null when the path is none such. */
export function targetOf({ path }: Pick<Exchange, "path">): Target | null {
  const [, model, name] = PATH.exec(path) ?? [];
  const method = METHODS.find((known) => known === name);
  if (model === undefined || method === undefined) return null;
  return { model: decoded(model), method };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
