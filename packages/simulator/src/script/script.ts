import { type Delivery, delivery, type Ending, type Piece } from "../delivery/delivery.ts";
import { frame, plainFraming } from "../delivery/sse.ts";
import { isObject } from "../json.ts";
import type { Manners } from "../manners.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import { readRules, ScriptError, type ScriptResponse, type ScriptRule } from "./rule.ts";

const RULES_MAX = 10_000;

/** A rule as GET /script shows it. */
export interface ScriptEntry extends ScriptRule {
  /** How many calls it has answered. */
  hits: number;
}

/** The rules that answer before any model does: the first that matches and is not used up. */
export class Script {
  #entries: ScriptEntry[] = [];

  /** Adds rules after those that are there; throws ScriptError and adds none when one is bad. */
  add(value: unknown): ScriptEntry[] {
    const rules = readRules(value);
    if (this.#entries.length + rules.length > RULES_MAX) throw new ScriptError(`at most ${RULES_MAX} rules`);
    this.#entries.push(...rules.map((rule) => ({ ...rule, hits: 0 })));
    return this.list();
  }

  /** The answer for this call, which counts as one of its `times`; null when no rule fits. */
  take(model: string | null, path: string): ScriptResponse | null {
    for (const entry of this.#entries) {
      if (entry.times !== undefined && entry.hits >= entry.times) continue;
      if (!fits(entry.match?.path, path) || !fits(entry.match?.model, model)) continue;
      entry.hits += 1;
      return entry.response;
    }
    return null;
  }

  list(): ScriptEntry[] {
    return this.#entries.map((entry) => ({ ...entry }));
  }

  clear(): void {
    this.#entries = [];
  }
}

const PLACE = { first: false, last: false, whole: true } as const;

/** Turns a scripted response into an answer. Other `headers` are there unless the script sets the same. */
export function scriptedDelivery(
  response: ScriptResponse,
  headers: Readonly<Record<string, string>>,
  manners: Manners = OPENAI_MANNERS,
): Delivery {
  const { status = 200, hang, reset, delay_ms: headWaitMs = 0, bill } = response;
  const { type, data } = content(response, manners);
  const own = Object.entries(response.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  const ending: Ending = reset === true ? "reset" : hang === true ? "stall" : "end";
  const pieces = data.map((text, i): Piece => {
    const last = i === data.length - 1;
    const output = { output: bill?.output_tokens ?? 0, reasoning: bill?.reasoning_tokens ?? 0 };
    return {
      data: text,
      waitMs: i === 0 ? 0 : (response.between_ms ?? 0),
      ...(last && output),
      reportsUsage: last && ending === "end" && bill !== undefined,
    };
  });
  return delivery({
    status,
    headers: { ...headers, "content-type": type, ...Object.fromEntries(own) },
    pieces,
    headWaitMs,
    silent: data.length === 0 && ending !== "end",
    ending,
    whole: ending === "end",
  });
}

function content(
  { body, events, raw }: ScriptResponse,
  manners: Manners,
): { type: string; data: (string | Uint8Array)[] } {
  const { streamType, jsonType, namedEvents, framing } = manners;
  if (events !== undefined) {
    const data = events.map((event, i) => {
      if (framing === "frames") return frame(framedStep(event), plainFraming(framing), PLACE);
      const name = namedEvents && isObject(event) && typeof event.type === "string" ? event.type : undefined;
      const step = { data: typeof event === "string" ? event : JSON.stringify(event), ...(name && { event: name }) };
      return frame(step, plainFraming(framing), { first: i === 0, last: i === events.length - 1, whole: true });
    });
    return { type: streamType, data };
  }
  if (raw !== undefined) return { type: streamType, data: [raw] };
  if (body === undefined) return { type: jsonType, data: [] };
  return { type: jsonType, data: [typeof body === "string" ? body : JSON.stringify(body)] };
}

/** In frames an event is `{ NAME: payload }`, or `{ exception: { TYPE: payload } }`. */
function framedStep(event: unknown): { event: string; exception?: string; data: string } {
  const [name = "", payload] = isObject(event) ? (Object.entries(event)[0] ?? []) : [];
  const [exception, said] = name === "exception" && isObject(payload) ? (Object.entries(payload)[0] ?? []) : [];
  if (exception !== undefined) return { event: "", exception, data: JSON.stringify(said) };
  return { event: name, data: JSON.stringify(payload ?? {}) };
}

/** Matches a text against a pattern in which `*` is any run of characters. An absent pattern fits all. */
function fits(pattern: string | undefined, value: string | null): boolean {
  if (pattern === undefined) return true;
  if (value === null) return false;
  const [head = "", ...rest] = pattern.split("*");
  const tail = rest.pop();
  if (tail === undefined) return value === head;
  if (value.length < head.length + tail.length || !value.startsWith(head) || !value.endsWith(tail)) return false;
  let at = head.length;
  for (const part of rest) {
    const found = value.indexOf(part, at);
    if (found < 0 || found + part.length > value.length - tail.length) return false;
    at = found + part.length;
  }
  return true;
}
