import type { CanonicalRequest, Reasoning } from "../../core/message.ts";
import { describedSchema } from "../described-schema.ts";
import { entryOf } from "../field-checks.ts";
import type { Target } from "../protocol.ts";
import type { Encoded } from "../translation.ts";
import { encodeMessages } from "./encode-messages.ts";
import { encodeTools } from "./encode-tools.ts";
import { inexpressible } from "./inexpressible.ts";
import type { Wire } from "./wire.ts";

const STOP_MAX = 5;
/** The ends of what Cohere takes for `p`; 0 and 1, which others take, are as good as these. */
const TOP_P = { min: 0.01, max: 0.99 };
/** Models that think; any other refuses to be told how. */
const THINKS = /reasoning/;
/** Shares of the output cap that an effort stands for (WIRE C6). */
const SHARES: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};

/**
 * The /v2/chat body that says a canonical request. What `inexpressible` names is left out and listed, hints that find no
 * place too.
 */
export function fromCanonical(request: CanonicalRequest, target: Target): Encoded {
  const lost = new Set(inexpressible(request));
  const dropped = new Set<string>(lost);
  const format = lost.has("response_format") ? null : request.responseFormat;
  // A form of the answer excludes documents, as it does tools.
  const { messages, documents } = encodeMessages(request.messages, { documents: format === null, dropped });
  const body: Wire = {
    model: target.model,
    messages,
    // It wants to be told even that it shall not stream.
    stream: request.stream,
    ...encodeTools(request, lost, dropped),
    ...(documents.length > 0 && { documents }),
    ...encodeSampling(request, lost),
    ...(format && { response_format: encodeFormat(format) }),
    ...encodeReasoning(request, target, dropped),
  };
  dropHints(request, dropped);
  return { body: Buffer.from(JSON.stringify(body)), dropped: [...dropped] };
}

function encodeSampling(request: CanonicalRequest, lost: ReadonlySet<string>): Wire {
  const fields: Wire = {};
  const set = (field: string, key: string, value: unknown): void => {
    if (value !== null && !lost.has(field)) fields[key] = value;
  };
  const { topP, stop } = request;
  set("max_output_tokens", "max_tokens", request.maxOutputTokens);
  set("temperature", "temperature", request.temperature);
  set("top_p", "p", topP === null ? null : Math.min(TOP_P.max, Math.max(TOP_P.min, topP)));
  set("top_k", "k", request.topK);
  set("frequency_penalty", "frequency_penalty", request.frequencyPenalty);
  set("presence_penalty", "presence_penalty", request.presencePenalty);
  set("seed", "seed", request.seed);
  // Too many: those that fit, where the route would rather drop than refuse.
  if (stop.length > 0) fields["stop_sequences"] = stop.slice(0, STOP_MAX);
  return fields;
}

function encodeFormat(format: NonNullable<CanonicalRequest["responseFormat"]>): Wire {
  if (format.type === "json_object") return { type: "json_object" };
  return { type: "json_object", json_schema: describedSchema(format) };
}

/** Thoughts on or off, and how many tokens they may take. */
function encodeReasoning({ reasoning, maxOutputTokens }: CanonicalRequest, target: Target, dropped: Set<string>): Wire {
  const asked = reasoning && (reasoning.effort !== null || reasoning.budgetTokens !== null);
  if (!reasoning || !asked) {
    if (reasoning) dropped.add("reasoning");
    return {};
  }
  if (!THINKS.test(target.traitsOf ?? target.model)) {
    dropped.add("reasoning");
    return {};
  }
  const { effort, budgetTokens } = reasoning;
  if (budgetTokens === 0 || (budgetTokens === null && effort === "none")) return { thinking: { type: "disabled" } };
  const budget = budgetTokens ?? budgetOf(reasoning, maxOutputTokens ?? target.maxOutputTokens);
  return { thinking: { type: "enabled", ...(budget !== null && { token_budget: budget }) } };
}

function budgetOf({ effort }: Reasoning, cap: number | null): number | null {
  const share = entryOf(SHARES, effort ?? "");
  return cap === null || share === undefined ? null : Math.max(1, Math.floor(cap * share));
}

function dropHints(request: CanonicalRequest, dropped: Set<string>): void {
  const { user, metadata, serviceTier, verbosity, promptCacheKey } = request;
  if (user !== null) dropped.add("user");
  if (metadata !== null) dropped.add("metadata");
  if (serviceTier !== null && serviceTier !== "auto" && serviceTier !== "default") dropped.add("service_tier");
  if (verbosity !== null) dropped.add("verbosity");
  if (promptCacheKey !== null) dropped.add("prompt_cache_key");
  for (const field of request.foreign) dropped.add(field.path);
}
