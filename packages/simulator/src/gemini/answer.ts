import type { Part, Plan } from "../models/plan.ts";
import { sign } from "../signature.ts";
import type { Stamp } from "../wire.ts";

/** A part that is a call. */
export type CallOnly = Part & { readonly kind: "call" };

/** How a request wants its answer written. */
export interface Manner {
  /** Thought is told, not only signed and billed. */
  readonly shown: boolean;
  /** The arguments of streamed calls come in pieces. */
  readonly partialArgs: boolean;
}

const RATINGS = ["HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_DANGEROUS_CONTENT"].map((category, i) => ({
  category,
  probability: i === 0 ? "NEGLIGIBLE" : "HIGH",
  ...(i === 1 && { blocked: true }),
}));

/** The `finishReason` and what goes with it, as members of a candidate. Tool calls end with STOP. */
export function finishJson(plan: Plan): string {
  const reason = finishReason(plan);
  const called = plan.parts.some((part) => part.kind === "call");
  const message =
    reason === "MALFORMED_FUNCTION_CALL"
      ? ',"finishMessage":"Malformed function call: call(default_api.weather(city=\\"sample\\")"'
      : called && plan.finish === "tool_calls"
        ? ',"finishMessage":"Model generated function call(s)."'
        : "";
  const ratings = reason === "SAFETY" ? `,"safetyRatings":${JSON.stringify(RATINGS)}` : "";
  return `"finishReason":${JSON.stringify(reason)}${message}${ratings}`;
}

function finishReason(plan: Plan): string {
  if (plan.parts.some((part) => part.kind === "refusal")) return "SAFETY";
  if (plan.finish === "stop" || plan.finish === "tool_calls") return "STOP";
  if (plan.finish === "length") return "MAX_TOKENS";
  return plan.finish === "content_filter" ? "SAFETY" : plan.finish;
}

/**
 * The `content` member of a candidate, with its comma. An answer that is withheld ends with an empty one, and with
 * the quirk `no_message` the last has none at all.
 */
export function contentJson(last: boolean, parts: readonly string[], plan: Plan): string {
  if (last && plan.settings.quirk?.has("no_message") === true) return "";
  const withheld = finishReason(plan) === "SAFETY" && !plan.parts.some((part) => part.kind === "text");
  if (parts.length === 0 || (last && withheld)) return '"content":{},';
  return `"content":{"parts":[${parts.join(",")}],"role":"model"},`;
}

/** The members at the end of every answer and every chunk of it. */
export function tailJson(stamp: Stamp, usage: string | null): string {
  const counted = usage === null ? "" : `,"usageMetadata":${usage}`;
  return `${counted},"modelVersion":${JSON.stringify(stamp.model)},"responseId":"sim${stamp.n}"`;
}

/** The answer to a prompt that was turned away: no candidates. */
export function blockedJson(plan: Plan, stamp: Stamp, usage: string | null): string {
  const feedback = { blockReason: plan.blocked, safetyRatings: RATINGS };
  return `{"promptFeedback":${JSON.stringify(feedback)}${tailJson(stamp, usage)}}`;
}

/** Which call of which candidate. */
export interface CallPlace {
  readonly candidate: number;
  readonly index: number;
}

/** A function call as a part; the first of an answer bears the signature. `args` null: they are yet to come. */
export function callPart(part: CallOnly, place: CallPlace, plan: Plan, stamp: Stamp, args: string | null): string {
  const quirks = plan.settings.quirk;
  const number = quirks?.has("dup_ids") === true ? 0 : place.index;
  const id = quirks?.has("call_ids") === true ? `,"id":"call_sim${stamp.n}_${place.candidate}_${number}"` : "";
  const rest = args === null ? ',"willContinue":true' : `,"args":${args}`;
  const signed = place.index === 0 && quirks?.has("no_signature") !== true;
  const call = `{"functionCall":{"name":${JSON.stringify(part.call.name)}${rest}${id}}`;
  return `${call}${signed ? `,"thoughtSignature":"${sign(part.call.name)}"` : ""}}`;
}

/** A text, or a thought, as a part. */
export function textPart(text: string, thought: boolean): string {
  return `{"text":${JSON.stringify(text)}${thought ? ',"thought":true' : ""}}`;
}

/** The empty part at the end of an answer that was thought about, which bears its signature. */
export function lastPart(plan: Plan): string {
  const thought = plan.parts.some((part) => part.kind === "reasoning");
  const called = plan.parts.some((part) => part.kind === "call");
  const signed = thought && !called && plan.settings.quirk?.has("no_signature") !== true;
  return `{"text":""${signed ? `,"thoughtSignature":"${sign("answer")}"` : ""}}`;
}

/** The arguments as an object; text that is no JSON, such as one cut by the output cap, leaves nothing of it. */
export function argsOf(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return "{}";
  }
}
