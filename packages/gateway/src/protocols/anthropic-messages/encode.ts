import { hash } from "node:crypto";
import type { CanonicalRequest } from "../../core/message.ts";
import { describedSchema } from "../described-schema.ts";
import { bodyJson, holdsTexts } from "../exact-json.ts";
import { entryOf, isObject, wordOf } from "../field-checks.ts";
import type { Target } from "../protocol.ts";
import type { Encoded } from "../translation.ts";
import { type Conversation, encodeMessages } from "./encode-messages.ts";
import { encodeTools, type WireTools } from "./encode-tools.ts";
import { inexpressible, isBlankStop } from "./inexpressible.ts";
import { type ModelRules, rulesOf } from "./models.ts";
import { answerSchema } from "./schema.ts";
import { type Exclusion, planThinking } from "./thinking.ts";
import type { Wire } from "./wire.ts";

/** Anthropic takes no more cache markers in one request. */
const CACHE_MARKERS_MAX = 4;
/** A user id that Anthropic takes: no mail address, no phone number. Any other is sent as its hash. */
const USER_ID = /^(?!\+?[\d .()-]{7,}$)[\w.:-]{1,256}$/;
/** Service tiers, in the words of both (the canonical ones are OpenAI's). */
const TIERS: Readonly<Record<string, string>> = { auto: "auto", priority: "auto", default: "standard_only" };

/**
 * The Messages body that says a canonical request. What `inexpressible` names is left out and listed; between a hint and a
 * field of meaning that exclude each other the hint goes (thinking with a budget does not take a temperature).
 */
export function fromCanonical(request: CanonicalRequest, target: Target): Encoded {
  const rules = rulesOf(target.model);
  const lost = new Set(inexpressible(request, target));
  const dropped = new Set<string>(lost);
  const conversation = encodeMessages(request.messages, rules.prefill, dropped);
  const refused = target.quirks.refuses?.includes("tools") ?? false;
  const tools = encodeTools(request, rules, { tools: refused, choice: lost.has("tool_choice") }, dropped);
  const sampling = samplingOf(request, lost);
  const {
    thinking,
    effort,
    maxTokens,
    dropped: thoughtless,
  } = planThinking(
    { request, modelMax: target.maxOutputTokens, excluded: exclusionOf(sampling, tools, conversation) },
    rules,
  );
  if (thoughtless) dropped.add("reasoning");
  const format = lost.has("response_format") ? null : formatOf(request, rules);
  const outputConfig = { ...(effort !== undefined && { effort }), ...(format && { format }) };
  const stop = lost.has("stop") ? [] : request.stop.filter((word) => !isBlankStop(word));
  const body: Wire = {
    model: target.model,
    max_tokens: maxTokens,
    ...(conversation.system.length > 0 && { system: conversation.system }),
    messages: conversation.messages,
    ...(tools.tools.length > 0 && { tools: tools.tools }),
    ...(tools.choice && { tool_choice: tools.choice }),
    ...(thinking && { thinking }),
    ...(Object.keys(outputConfig).length > 0 && { output_config: outputConfig }),
    ...sampling,
    ...(stop.length > 0 && { stop_sequences: stop }),
    ...hintsOf(request, dropped),
    ...(request.stream && { stream: true }),
  };
  if (limitMarkers(body)) dropped.add("cache_control");
  return { body: Buffer.from(bodyJson(body, holdsTexts(request.messages))), dropped: [...dropped] };
}

function samplingOf({ temperature, topP, topK }: CanonicalRequest, lost: ReadonlySet<string>): Wire {
  return {
    // The defaults say nothing, and the newest models refuse even them beside each other.
    ...(temperature !== null && temperature !== 1 && !lost.has("temperature") && { temperature }),
    ...(topP !== null && topP !== 1 && !lost.has("top_p") && { top_p: topP }),
    ...(topK !== null && !lost.has("top_k") && { top_k: topK }),
  };
}

/**
 * With thoughts there is no temperature and no top_k; with a budget of them no forced tool either, no begun answer, and a tool
 * loop must have begun with a thought that is still there (WIRE C6).
 */
function exclusionOf(sampling: Wire, { choice }: WireTools, { messages }: Conversation): Exclusion {
  if (Object.keys(sampling).length > 0) return "always";
  if (choice?.["type"] === "any" || choice?.["type"] === "tool") return "budget";
  const last = messages[messages.length - 1];
  if (last?.role === "assistant") return "budget";
  if (last?.content[0]?.["type"] !== "tool_result") return null;
  const called = messages.findLast((message) => message.role === "assistant");
  return wordOf(called?.content[0]?.["type"]).endsWith("thinking") ? null : "budget";
}

function formatOf({ responseFormat }: CanonicalRequest, rules: ModelRules): Wire | null {
  if (responseFormat?.type !== "json_schema" || !rules.structured) return null;
  return { type: "json_schema", schema: answerSchema(describedSchema(responseFormat)) };
}

function hintsOf(request: CanonicalRequest, dropped: Set<string>): Wire {
  const { user, metadata, serviceTier, verbosity, promptCacheKey } = request;
  if (metadata !== null && Object.keys(metadata).length > 0) dropped.add("metadata");
  if (verbosity !== null) dropped.add("verbosity");
  if (promptCacheKey !== null) dropped.add("prompt_cache_key");
  for (const field of request.foreign) dropped.add(field.path);
  const tier = serviceTier === null ? null : (entryOf(TIERS, serviceTier) ?? null);
  if (serviceTier !== null && tier === null) dropped.add("service_tier");
  return {
    ...(user !== null && { metadata: { user_id: USER_ID.test(user) ? user : hash("sha256", user, "hex") } }),
    ...(tier !== null && { service_tier: tier }),
  };
}

/**
 * Keeps the last markers of those that are too many: they stand for the longest prefixes. One for an hour may not follow one
 * for five minutes, and becomes like it. True when some had to go or change.
 */
function limitMarkers(body: Wire): boolean {
  const marked: Wire[] = [];
  const look = (value: unknown): void => {
    if (!Array.isArray(value)) return;
    for (const block of value) {
      if (!isObject(block)) continue;
      look(block["content"]);
      if (block["cache_control"] !== undefined) marked.push(block);
    }
  };
  look(body["tools"]);
  look(body["system"]);
  look(body["messages"]);
  const over = marked.slice(0, Math.max(0, marked.length - CACHE_MARKERS_MAX));
  for (const block of over) delete block["cache_control"];
  const kept = marked.slice(over.length);
  const short = kept.findIndex((block) => !isHour(block));
  const late = short === -1 ? [] : kept.slice(short).filter(isHour);
  for (const block of late) block["cache_control"] = { type: "ephemeral", ttl: "5m" };
  return over.length + late.length > 0;
}

function isHour(block: Wire): boolean {
  const marker = block["cache_control"];
  return isObject(marker) && marker["ttl"] === "1h";
}
