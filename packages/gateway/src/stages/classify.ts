import type { ComplexityConfig, ModelPolicy } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import type { Cancel } from "../core/cancel.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { lastUserText } from "../protocols/prompt-size.ts";
import { openCrossing, translateReply } from "../protocols/translate.ts";
import { askThrough } from "../providers/auth/ask.ts";
import type { Caller } from "./authenticate.ts";
import { UNUSED } from "./enter.ts";
import { callForSelf, type OwnAnswer } from "./own-call.ts";
import type { DataPlane, Runtime } from "./plane.ts";
import { type Hop, route } from "./route.ts";
import { routeFacts } from "./route-facts.ts";
import type { Visit } from "./visit.ts";

/** A request whose complexity is in doubt. */
export interface Doubt {
  runtime: Runtime;
  visit: Visit;
  caller: Caller;
  call: Call;
  classifier: NonNullable<ComplexityConfig["classifier"]>;
  budgetMs: number;
}

/** As much of a message as a classifier is shown. */
const SHOWN_CHARS = 4_000;
const ANSWER_TOKENS = 8;
const INSTRUCTION =
  "Rate how capable a model has to be to answer the message well. Reply with one number between 0 (any model will do) and 1 (only the most capable will do), and with nothing else.";
const EVERYTHING: ModelPolicy = { allow: "*", deny: [] };

/**
 * How complex a request is, 0 to 1, by the classifier's word (ROUTE-8). Null when it does not answer in its budget, or answers
 * nothing that makes sense. A model's word is a call of the gateway's own, paid by the tenant (ruling 20), and goes only where
 * the request's data may go. Never throws.
 */
export async function classify(plane: DataPlane, doubt: Doubt, cancel: Cancel): Promise<number | null> {
  const began = plane.clock.monotonic();
  try {
    const said = await (doubt.classifier.kind === "http"
      ? askServer(plane, doubt, doubt.classifier.url)
      : askModel(plane, doubt, doubt.classifier.alias, cancel));
    return said !== null && said >= 0 && said <= 1 ? said : null;
  } catch {
    return null;
  } finally {
    doubt.visit.waitedMs += plane.clock.monotonic() - began;
  }
}

/** POST {text, tools, alias, tenant} → {score}. */
async function askServer(plane: DataPlane, { call, caller, budgetMs }: Doubt, url: string): Promise<number | null> {
  const ask = askThrough(plane.transport, plane.clock, "classifier", budgetMs);
  const asked = { text: shownText(call), tools: toolsOf(call), alias: call.alias, tenant: caller.tenant.name };
  const { status, body } = await ask({
    ...{ url, method: "POST", headers: ["content-type", "application/json"], proxy: null },
    body: JSON.stringify(asked),
  });
  if (status < 200 || status >= 300) return null;
  const { score } = JSON.parse(body.toString("utf8")) as { score?: unknown };
  return typeof score === "number" ? score : null;
}

async function askModel(plane: DataPlane, doubt: Doubt, alias: string, cancel: Cancel): Promise<number | null> {
  const { caller, visit, budgetMs } = doubt;
  const call = questionOf(doubt, alias);
  const hop = hopFor(plane, doubt, call);
  const crossing = openCrossing(openaiChat, call);
  if (!crossing) return null;
  // One that is ill would cost every request its whole budget.
  const permit = plane.health.permit(hop.health);
  if (permit instanceof Promise || !permit.ok) {
    if (permit instanceof Promise) void permit.then((late) => late.ok && late.done(UNUSED));
    return null;
  }
  let answer: OwnAnswer | null = null;
  try {
    answer = await callForSelf(plane, {
      ...{ purpose: "classifier", tenant: caller.tenant.name, parent: visit.requestId },
      ...{ deployment: hop.deployment, provider: hop.provider, pool: hop.pool, timeoutMs: budgetMs, cancel },
      small: { client: openaiChat, call, protocol: hop.protocol, crossing },
    });
  } finally {
    const failure = answer?.failure ?? null;
    // Its time is the request's, and shorter than a model's own.
    const neutral = answer === null || failure?.class === "timeout" || failure?.class === "cancelled";
    permit.done({
      ...{ class: failure?.class ?? null, neutral, retryAfterMs: failure?.retryAfterMs ?? null, ttftMs: null },
      latencyMs: answer?.latencyMs ?? 0,
    });
  }
  return answer && scoreIn(answer, hop, call);
}

function scoreIn({ body }: OwnAnswer, { protocol, provider, deployment }: Hop, call: Call): number | null {
  if (!body) return null;
  const shown = { call, requestId: "", createdS: 0, model: deployment.model };
  const said = translateReply(openaiChat, protocol, body, provider.quirks, shown);
  const answer = JSON.parse(said.toString("utf8")) as { choices?: { message?: { content?: unknown } }[] };
  const number = /\d+(?:\.\d+)?/.exec(String(answer.choices?.[0]?.message?.content ?? ""))?.[0];
  return number === undefined ? null : Number(number);
}

/** Where the classifier's alias leads for this data; what the key may ask for itself does not count. */
function hopFor(plane: DataPlane, { runtime, caller }: Doubt, call: Call): Hop {
  const own: Caller = { key: { ...caller.key, models: null }, tenant: { ...caller.tenant, models: EVERYTHING } };
  const facts = routeFacts(runtime, own, call, { at: plane.clock.now(), draw: plane.random.float() });
  return route(runtime, own, openaiChat, call, facts, (key) => plane.health.read(key)).hops[0];
}

function questionOf({ call: asked }: Doubt, alias: string): Call {
  const messages = [
    { role: "system", content: INSTRUCTION },
    { role: "user", content: shownText(asked) },
  ];
  const raw = Buffer.from(JSON.stringify({ model: alias, messages, max_tokens: ANSWER_TOKENS, temperature: 0 }));
  const header = (name: string): string | undefined => (name === "content-type" ? "application/json" : undefined);
  const call = openaiChat.decodeRequest({ raw, path: { query: "" }, header });
  return { ...call, platform: asked.platform };
}

function shownText(call: Call): string {
  return lastUserText(call).slice(0, SHOWN_CHARS);
}

function toolsOf({ body }: Call): number {
  const { tools } = body;
  return Array.isArray(tools) ? tools.length : 0;
}
