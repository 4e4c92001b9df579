import type { Simulator } from "../src/index.ts";
import { eventsOf } from "./anthropic.ts";
import type { Loose } from "./kit.ts";

/** A method of a model with its query. */
export type Method = "generateContent" | "streamGenerateContent?alt=sse" | "streamGenerateContent" | (string & {});

/** POSTs a Gemini request with one user content; `extra` wins. */
export function gemini(
  simulator: Simulator,
  model: string,
  method: Method,
  extra: object = {},
  headers: Record<string, string> = { "x-goog-api-key": "k" },
): Promise<Response> {
  const body = { contents: [{ role: "user", parts: [{ text: "alpha beta gamma" }] }], ...extra };
  const url = `${simulator.url}/v1beta/models/${encodeURIComponent(model)}:${method}`;
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

/** The JSON of an answer. */
export async function generated(simulator: Simulator, model: string, extra: object = {}): Promise<Loose> {
  return (await gemini(simulator, model, "generateContent", extra)).json();
}

/** The chunks of an answer streamed as server-sent events. */
export async function streamed(simulator: Simulator, model: string, extra: object = {}): Promise<Loose[]> {
  const response = await gemini(simulator, model, "streamGenerateContent?alt=sse", extra);
  return eventsOf(await response.text()).map(({ data }) => data);
}
