import { arrange } from "./delivery/arrange.ts";
import type { Delivery } from "./delivery/delivery.ts";
import { errorDelivery, failureDelivery, type Headers } from "./delivery/failure.ts";
import { deliver } from "./delivery/pace.ts";
import { type Exchange, note } from "./exchange.ts";
import { isObject } from "./json.ts";
import { composePlan } from "./models/compose.ts";
import type { Plan, Usage } from "./models/plan.ts";
import { ProblemError } from "./models/problem.ts";
import { spared } from "./models/resolve.ts";
import { OPENAI_MANNERS } from "./openai-manners.ts";
import { modelHeaders } from "./provider-headers.ts";
import { Account } from "./records/account.ts";
import type { Bill } from "./records/invoice.ts";
import type { Hit } from "./records/requests.ts";
import type { ScriptBill } from "./script/rule.ts";
import { scriptedDelivery } from "./script/script.ts";
import type { State } from "./state.ts";
import type { WireFormat } from "./wire.ts";

/** An answer with what it bills; null = nothing. */
interface Outcome {
  readonly delivery: Delivery;
  readonly usage: Usage | null;
}

/** Answers one call to a model: script rules first, then validation, then the behaviour its name asks for. */
export function generate(state: State, exchange: Exchange, wire: WireFormat): void {
  const body = isObject(exchange.body) ? exchange.body : null;
  const name = wire.target?.model ?? (typeof body?.model === "string" ? body.model : (wire.modelDefault ?? null));
  const stream = wire.target?.stream ?? (body !== null && (wire.streams?.(body) ?? body.stream === true));
  const hit = note(state, exchange, name, stream);
  const outcome = outcomeOf(state, exchange, wire, name);
  const bill = outcome.usage === null ? null : openBill(state, hit, wire.dialect, outcome.usage);
  deliver(exchange.res, outcome.delivery, new Account(hit, bill), () => state.closing);
}

function outcomeOf(state: State, exchange: Exchange, wire: WireFormat, name: string | null): Outcome {
  const manners = wire.manners ?? OPENAI_MANNERS;
  const headers = manners.headers(exchange);
  const scripted = state.script.take(name, exchange.path);
  if (scripted !== null)
    return { delivery: scriptedDelivery(scripted, headers, manners), usage: scriptedUsage(scripted.bill) };
  try {
    manners.checkKey(exchange, state.options.requireKey);
    return modelled(state, exchange, wire, name, headers);
  } catch (error) {
    return { delivery: failureDelivery(error, wire, headers), usage: null };
  }
}

function modelled(state: State, exchange: Exchange, wire: WireFormat, name: string | null, common: Headers): Outcome {
  const { body } = exchange;
  const manners = wire.manners ?? OPENAI_MANNERS;
  if (!isObject(body)) throw new ProblemError(manners.unreadable);
  if (name === null) throw new ProblemError(manners.modelless);
  const named = state.model(name);
  const request = wire.read(body, named.settings.strict ?? state.options.strict ?? wire.strict ?? false, state);
  // Counted after validation: a call refused for its form is no turn of the model.
  const model = state.turns.misbehaves(named) ? named : spared(named);
  const { settings } = model;
  const plan = composePlan(request.ask, model);
  const limited = state.turns.limit(model, plan.usage.input + plan.usage.output, Date.now());
  const limits = state.turns.limits(model);
  const headers = modelHeaders(common, settings, limits === null ? null : manners.limitHeaders(limits));
  if (limited !== null) return { delivery: errorDelivery(limited, wire, headers), usage: null };
  const stamp = { n: exchange.n, created: Math.floor(Date.now() / 1000), model: settings.served ?? name };
  const billed = wire.billed !== false && isBilled(plan, request.ask.stream);
  if (billed || request.deferred === true) request.remember?.(plan, stamp);
  return { delivery: arrange(plan, request, wire, stamp, headers), usage: billed ? plan.usage : null };
}

/** Nothing is billed when no model ran: errors before output, foreign bodies, a reset before any answer. */
function isBilled({ problem: refused, fault }: Plan, stream: boolean): boolean {
  if (refused !== null || fault?.kind === "body") return false;
  if (fault?.kind === "error") return stream && fault.at !== "headers";
  return !(fault?.kind === "reset" && fault.at === "nothing");
}

function openBill(state: State, { n, request_id, model, path, stream }: Hit, dialect: string, usage: Usage): Bill {
  return state.invoice.open({ n, request_id, model: model ?? "", path, dialect, stream }, usage);
}

function scriptedUsage(bill: ScriptBill | undefined): Usage | null {
  if (bill === undefined) return null;
  return {
    input: bill.input_tokens ?? 0,
    cached: bill.cached_input_tokens ?? 0,
    cacheWrite: bill.cache_write_tokens ?? 0,
    output: bill.output_tokens ?? 0,
    reasoning: bill.reasoning_tokens ?? 0,
  };
}
