import type { JsonObject } from "../json.ts";
import type { Ask, AskFormat, AskTool, ToolChoice } from "../models/ask.ts";
import { estimateTokens } from "../models/text.ts";
import { checkMembers, invalid, listAt, numberAt, objectAt, textAt } from "./checks.ts";
import { readMessages } from "./messages.ts";

const FIELDS = `model messages stream max_tokens stop temperature top_p n random_seed frequency_penalty presence_penalty
  response_format tools tool_choice parallel_tool_calls prediction metadata prompt_mode reasoning_effort prompt_cache_key
  safe_prompt guardrails`.split(/\s+/);
const EFFORTS: readonly unknown[] = ["none", "minimal", "low", "medium", "high", "xhigh"];
const ANY = Number.MAX_SAFE_INTEGER;

/** Reads and validates the body of Mistral's chat completions: what it does not know is a 422. */
export function readRequest(body: JsonObject): Ask {
  checkMembers(body, FIELDS, "body");
  const conversation = readMessages(body.messages);
  numberAt(body.temperature, "body.temperature", 0, 1.5);
  numberAt(body.top_p, "body.top_p", 0, 1);
  numberAt(body.random_seed, "body.random_seed", 0, ANY);
  numberAt(body.frequency_penalty, "body.frequency_penalty", -2, 2);
  numberAt(body.presence_penalty, "body.presence_penalty", -2, 2);
  const effort = body.reasoning_effort ?? null;
  if (effort !== null && !EFFORTS.includes(effort)) invalid("body.reasoning_effort", "Input should be a known effort");
  const tools = listAt(body.tools, "body.tools").map((tool, i) => readTool(tool, `body.tools.${i}`));
  const { stop } = body;
  return {
    stream: body.stream === true,
    text: conversation.text,
    toolResult: conversation.toolResult,
    inputTokens: conversation.tokens + (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(body.tools))),
    generates: true,
    tools,
    toolChoice: readChoice(body.tool_choice, tools),
    parallelCalls: body.parallel_tool_calls !== false,
    format: readFormat(body.response_format),
    outputTokensMax: numberAt(body.max_tokens, "body.max_tokens", 0, ANY),
    stop: typeof stop === "string" ? [stop] : listAt(stop, "body.stop").map((word) => textAt(word, "body.stop")),
    choices: numberAt(body.n, "body.n", 1, ANY) ?? 1,
    thinks: effort !== null && effort !== "none",
  };
}

function readTool(value: unknown, at: string): AskTool {
  const tool = objectAt(value, at);
  checkMembers(tool, ["type", "function"], at);
  const made = objectAt(tool.function, `${at}.function`);
  checkMembers(made, ["name", "description", "parameters", "strict"], `${at}.function`);
  return {
    kind: "function",
    name: textAt(made.name, `${at}.function.name`),
    parameters: objectAt(made.parameters, `${at}.function.parameters`),
  };
}

function readChoice(value: unknown, tools: readonly AskTool[]): ToolChoice {
  if (value == null) return { mode: tools.length > 0 ? "auto" : "none", name: null };
  if (value === "any" || value === "required") return { mode: "required", name: null };
  if (value === "auto" || value === "none") return { mode: value, name: null };
  const choice = objectAt(value, "body.tool_choice");
  checkMembers(choice, ["type", "function"], "body.tool_choice");
  const { name } = objectAt(choice.function, "body.tool_choice.function");
  return { mode: "required", name: textAt(name, "body.tool_choice.function.name") };
}

function readFormat(value: unknown): AskFormat {
  if (value == null) return { kind: "text" };
  const format = objectAt(value, "body.response_format");
  checkMembers(format, ["type", "json_schema"], "body.response_format");
  if (format.type === "text") return { kind: "text" };
  if (format.type === "json_object") return { kind: "json" };
  if (format.type !== "json_schema") invalid("body.response_format.type", "Input should be a known format");
  const wrapped = objectAt(format.json_schema, "body.response_format.json_schema");
  checkMembers(wrapped, ["name", "description", "schema", "strict"], "body.response_format.json_schema");
  return { kind: "schema", schema: objectAt(wrapped.schema, "body.response_format.json_schema.schema") };
}
