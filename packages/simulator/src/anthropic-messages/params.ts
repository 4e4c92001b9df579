import { isObject, type JsonObject } from "../json.ts";
import type { AskFormat, ToolChoice } from "../models/ask.ts";
import { checkMembers, listAt, objectAt, stringAt, wrong } from "./refusals.ts";

const BUDGET_MIN = 1024;
const EFFORTS = ["low", "medium", "high", "xhigh", "max"];

/** What the request says of thinking. */
export interface Thinking {
  readonly mode: "enabled" | "adaptive" | "disabled" | null;
  /** False: thinking is signed but not told. */
  readonly shown: boolean;
}

/** The output cap; what Anthropic wants to be told in every request. */
export function readMaxTokens({ max_tokens: value }: JsonObject): number {
  if (value === undefined) wrong("max_tokens", "Field required");
  return numberAt(value, "max_tokens", 0, 10_000_000, true);
}

/** The sampling parameters, as far as given. `fixed`: the model takes none but the defaults. */
export function readSampling(body: JsonObject, fixed: boolean): { temperature: number | null; topP: number | null } {
  const { temperature, top_p: topP, top_k: topK } = body;
  const read = {
    temperature: temperature == null ? null : numberAt(temperature, "temperature", 0, 1, false),
    topP: topP == null ? null : numberAt(topP, "top_p", 0, 1, false),
  };
  if (topK != null) numberAt(topK, "top_k", 0, 10_000_000, true);
  if (!fixed) return read;
  if (topK != null) wrong("top_k", "top_k is deprecated for this model.");
  if (read.temperature !== null && read.temperature !== 1) {
    wrong("temperature", "temperature is deprecated for this model.");
  }
  if (read.topP !== null && read.topP < 0.99) wrong("top_p", "top_p is deprecated for this model.");
  return read;
}

/** The stop sequences. */
export function readStop(value: unknown): string[] {
  if (value == null) return [];
  return listAt(value, "stop_sequences").map((item, i) => {
    const word = stringAt(item, `stop_sequences.${i}`);
    return word.trim() === "" ? wrong("stop_sequences", "each stop sequence must contain non-whitespace") : word;
  });
}

/** What is said of thinking, and whether it goes with the rest of the request. */
export function readThinking(body: JsonObject, maxTokens: number | null, choice: ToolChoice): Thinking {
  if (body.thinking == null) return { mode: null, shown: true };
  const thinking = objectAt(body.thinking, "thinking");
  const { type, budget_tokens: budget, display } = thinking;
  if (type !== "enabled" && type !== "adaptive" && type !== "disabled") {
    const words = "does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'";
    return wrong("thinking", `Input tag '${type}' found using 'type' ${words}`);
  }
  const known = { enabled: ["type", "budget_tokens", "display"], adaptive: ["type", "display"], disabled: ["type"] };
  checkMembers(thinking, known[type], `thinking.${type}`);
  if (display != null && display !== "summarized" && display !== "omitted") {
    wrong(`thinking.${type}.display`, "Input should be 'summarized' or 'omitted'");
  }
  if (type === "enabled") checkEnabled(body, budget, maxTokens, choice);
  return { mode: type, shown: display !== "omitted" };
}

function checkEnabled(body: JsonObject, budget: unknown, maxTokens: number | null, choice: ToolChoice): void {
  if (budget === undefined) wrong("thinking.enabled.budget_tokens", "Field required");
  const tokens = numberAt(budget, "thinking.enabled.budget_tokens", BUDGET_MIN, 10_000_000, true);
  if (maxTokens !== null && maxTokens <= tokens) {
    wrong("", "`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
  if (body.temperature != null && body.temperature !== 1) {
    wrong("", "`temperature` may only be set to 1 when thinking is enabled.");
  }
  if (body.top_k != null) wrong("", "`top_k` must be unset when thinking is enabled.");
  if (choice.mode === "required") wrong("", "Thinking may not be enabled when tool_choice forces tool use.");
}

/** The shape the answer must have, by `output_config`, or by the older `output_format`. */
export function readFormat(body: JsonObject): AskFormat {
  if (body.output_format != null) return formatAt(body.output_format, "output_format");
  if (body.output_config == null) return { kind: "text" };
  const config = objectAt(body.output_config, "output_config");
  checkMembers(config, ["effort", "format", "task_budget"], "output_config");
  if (config.effort != null && !EFFORTS.includes(String(config.effort))) {
    wrong("output_config.effort", "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'");
  }
  return config.format == null ? { kind: "text" } : formatAt(config.format, "output_config.format");
}

function formatAt(value: unknown, at: string): AskFormat {
  const format = objectAt(value, at);
  if (format.type !== "json_schema") wrong(`${at}.type`, "Input should be 'json_schema'");
  checkMembers(format, ["type", "schema"], at);
  const schema = objectAt(format.schema, `${at}.schema`);
  checkClosed(schema, `${at}.schema`);
  return { kind: "schema", schema };
}

/** Anthropic takes only objects that are closed. */
function checkClosed(schema: JsonObject, at: string): void {
  if (schema.type === "object" && schema.additionalProperties !== false) {
    wrong(at, "For 'object' type, 'additionalProperties' must be explicitly set to false");
  }
  for (const [name, inner] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    if (isObject(inner)) checkClosed(inner, `${at}.properties.${name}`);
  }
  if (isObject(schema.items)) checkClosed(schema.items, `${at}.items`);
}

function numberAt(value: unknown, at: string, least: number, most: number, whole: boolean): number {
  if (typeof value !== "number") return wrong(at, `Input should be a valid ${whole ? "integer" : "number"}`);
  if (whole && !Number.isInteger(value)) wrong(at, "Input should be a valid integer");
  if (value < least) wrong(at, `Input should be greater than or equal to ${least}`);
  if (value > most) wrong(at, `Input should be less than or equal to ${most}`);
  return value;
}
