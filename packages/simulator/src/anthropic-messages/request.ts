import type { IncomingHttpHeaders } from "node:http";
import { isObject, type JsonObject } from "../json.ts";
import type { Ask } from "../models/ask.ts";
import { estimateTokens } from "../models/text.ts";
import { readMark, readText } from "./input-blocks.ts";
import { type Conversation, readMessages } from "./messages.ts";
import { readFormat, readMaxTokens, readSampling, readStop, readThinking, type Thinking } from "./params.ts";
import { checkMembers, listAt, objectAt, stringAt, wrong } from "./refusals.ts";
import { Tally } from "./tally.ts";
import { readTools } from "./tools.ts";

const FIELDS =
  `model messages max_tokens system stop_sequences stream temperature top_p top_k metadata tools tool_choice
  thinking output_config service_tier inference_geo container cache_control`.split(/\s+/);
/** Fields that are only there for who sends a beta header that begins so. */
const BETA_FIELDS: Readonly<Record<string, readonly string[]>> = {
  context_management: ["context-management-", "compact-"],
  mcp_servers: ["mcp-client-"],
  speed: ["fast-mode-"],
  fallbacks: ["server-side-fallback-"],
  fallback_credit_token: ["fallback-credit-"],
  diagnostics: ["cache-diagnosis-"],
  output_format: ["structured-outputs-"],
};

/** A Messages request: what any behaviour may look at, and what only this format's writer needs. */
export interface MessagesRequest {
  readonly ask: Ask;
  readonly thinking: Thinking;
}

/** How a request is to be read. */
export interface Reading {
  readonly headers: IncomingHttpHeaders;
  readonly strict: boolean;
  /** True for count_tokens, which wants no output cap and takes none. */
  readonly counting: boolean;
  readonly quirks: ReadonlySet<string>;
  /** The model takes system turns within the conversation. */
  readonly systemTurns: boolean;
}

/** Reads and validates the body of POST /v1/messages, or of its count_tokens. */
export function readRequest(body: JsonObject, reading: Reading): MessagesRequest {
  const { quirks, counting } = reading;
  if (reading.strict) checkFields(body, reading);
  const cap = counting ? null : readMaxTokens(body);
  if (body.stream != null && typeof body.stream !== "boolean") wrong("stream", "Input should be a valid boolean");
  const tally = new Tally();
  const toolbox = readTools(body, tally);
  const systems = readSystem(body.system, tally);
  const refuses = { prefill: quirks.has("no_prefill"), systemTurns: !reading.systemTurns };
  const conversation = readMessages(body.messages, tally, refuses);
  readMark(body, "", tally);
  tally.checkMarks();
  const sampling = readSampling(body, quirks.has("no_sampling"));
  const thinking = readThinking(body, cap, toolbox.choice);
  if (thinking.mode === "enabled" && quirks.has("adaptive_only")) {
    wrong("", '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".');
  }
  checkThinkingTurns(thinking, conversation);
  checkRest(body);
  const ask: Ask = {
    stream: body.stream === true,
    text: conversation.text,
    toolResult: conversation.toolResult,
    inputTokens: tally.tokens + (body.tools == null ? 0 : estimateTokens(JSON.stringify(body.tools))),
    generates: !counting,
    tools: toolbox.tools,
    toolChoice: toolbox.choice,
    parallelCalls: toolbox.parallel,
    format: readFormat(body),
    outputTokensMax: cap,
    stop: readStop(body.stop_sequences),
    choices: 1,
    thinks: thinking.mode === "enabled" || thinking.mode === "adaptive",
    heard: () => ({
      dialect: "anthropic-messages",
      system: [...systems, ...conversation.systems].join("\n\n") || null,
      messages: tally.messages,
      tool_results: tally.results,
      images: tally.images,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      tool_calls: tally.calls,
      reasoning: reasoningOf(body),
      cache_markers: tally.marks,
      user: isObject(body.metadata) && typeof body.metadata.user_id === "string" ? body.metadata.user_id : null,
    }),
  };
  return { ask, thinking };
}

/** What is asked of thinking: its type with the budget or the effort. */
function reasoningOf({ thinking, output_config: config }: JsonObject): string | null {
  const mode = isObject(thinking) ? [thinking.type, thinking.budget_tokens] : [];
  const words = [...mode, isObject(config) ? config.effort : undefined].filter((word) => word != null);
  return words.length === 0 ? null : words.join(" ");
}

function checkFields(body: JsonObject, { headers, counting }: Reading): void {
  const betas = String(headers["anthropic-beta"] ?? "").split(/\s*,\s*/);
  const allowed = Object.entries(BETA_FIELDS)
    .filter(([, starts]) => starts.some((start) => betas.some((beta) => beta.startsWith(start))))
    .map(([field]) => field);
  const known = [...FIELDS, ...allowed];
  checkMembers(body, counting ? known.filter((field) => field !== "max_tokens" && field !== "stream") : known, "");
}

function readSystem(value: unknown, tally: Tally): string[] {
  if (value == null || value === "") return [];
  if (typeof value === "string") return [tally.text(value)];
  return listAt(value, "system").map((item, i) => {
    const block = objectAt(item, `system.${i}`);
    if (block.type !== "text") wrong(`system.${i}.type`, "Input should be 'text'");
    checkMembers(block, ["type", "text", "cache_control", "citations"], `system.${i}`);
    if (block.text === "") wrong("", "system: text content blocks must be non-empty");
    const text = readText(block.text, `system.${i}.text`, tally);
    readMark(block, `system.${i}`, tally);
    return text;
  });
}

function checkThinkingTurns({ mode }: Thinking, { loopStart, prefilled }: Conversation): void {
  if (mode !== "enabled") return;
  if (prefilled) wrong("", "messages: final assistant content cannot be prefilled when thinking is enabled");
  if (loopStart === null || loopStart === "thinking" || loopStart === "redacted_thinking") return;
  const words = `Expected \`thinking\` or \`redacted_thinking\`, but found \`${loopStart}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`;
  wrong("messages", words);
}

function checkRest({ metadata, service_tier: tier }: JsonObject): void {
  if (metadata != null) {
    const given = objectAt(metadata, "metadata");
    checkMembers(given, ["user_id"], "metadata");
    if (given.user_id != null) stringAt(given.user_id, "metadata.user_id");
  }
  if (tier != null && tier !== "auto" && tier !== "standard_only") {
    wrong("service_tier", "Input should be 'auto' or 'standard_only'");
  }
  if (isObject(metadata) && String(metadata.user_id ?? "").length > 256) {
    wrong("metadata.user_id", "String should have at most 256 characters");
  }
}
