import type { Simulator } from "../src/index.ts";
import type { Loose } from "./kit.ts";

/** The headers that Anthropic wants. */
export const ANTHROPIC_HEADERS = { "x-api-key": "k", "anthropic-version": "2023-06-01" };

/** One event of a stream. */
export interface NamedEvent {
  readonly event: string | null;
  readonly data: Loose;
}

/** POSTs a Messages request with one user message; `extra` wins, undefined members go. */
export function messages(
  simulator: Simulator,
  model: string,
  extra: object = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = { model, max_tokens: 2000, messages: [{ role: "user", content: "alpha beta gamma" }], ...extra };
  return fetch(`${simulator.url}/v1/messages`, {
    method: "POST",
    headers: { ...ANTHROPIC_HEADERS, ...headers },
    body: JSON.stringify(body),
  });
}

/** The JSON of an answer. */
export async function messageJson(simulator: Simulator, model: string, extra: object = {}): Promise<Loose> {
  return (await messages(simulator, model, extra)).json();
}

/** The events of a streamed answer. */
export async function events(simulator: Simulator, model: string, extra: object = {}): Promise<NamedEvent[]> {
  return eventsOf(await (await messages(simulator, model, { stream: true, ...extra })).text());
}

/** Reads server-sent events, none of them broken. */
export function eventsOf(text: string): NamedEvent[] {
  return text
    .split(/\r?\n\r?\n/)
    .filter((block) => block.includes("data: "))
    .map((block) => ({
      event: /^event: (.*)$/m.exec(block)?.[1] ?? null,
      data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null"),
    }));
}
