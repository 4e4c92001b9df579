import { isObject, type JsonObject } from "../json.ts";
import type { Ask, AskFormat, AskTool, ToolChoice } from "../models/ask.ts";
import { estimateTokens } from "../models/text.ts";
import { checkMembers, listAt, numberAt, objectAt, textAt, wrong } from "./checks.ts";
import { readMessages } from "./messages.ts";

const FIELDS =
  `model messages stream tools tool_choice strict_tools documents citation_options response_format safety_mode
  max_tokens stop_sequences temperature seed frequency_penalty presence_penalty k p logprobs thinking priority`.split(
    /\s+/,
  );
const STOPS_MAX = 5;
const ANY = Number.MAX_SAFE_INTEGER;

/** Reads and validates the body of POST /v2/chat. */
export function readChat(body: JsonObject): Ask {
  checkMembers(body, FIELDS, "");
  const conversation = readMessages(body.messages);
  const tools = listAt(body.tools, "tools").map((tool, i) => readTool(tool, `tools[${i}]`));
  const documents = listAt(body.documents, "documents");
  const format = readFormat(body.response_format, tools.length > 0 || documents.length > 0);
  numberAt(body.temperature, "temperature", 0, ANY);
  numberAt(body.p, "p", 0.01, 0.99);
  numberAt(body.k, "k", 0, 500);
  numberAt(body.seed, "seed", 0, ANY);
  numberAt(body.frequency_penalty, "frequency_penalty", 0, 1);
  numberAt(body.presence_penalty, "presence_penalty", 0, 1);
  const stop = listAt(body.stop_sequences, "stop_sequences").map((word) => textAt(word, "stop_sequences"));
  if (stop.length > STOPS_MAX) wrong(`stop_sequences must have at most ${STOPS_MAX} entries`);
  const beside = [...listAt(body.tools, "tools"), ...documents];
  return {
    stream: body.stream === true,
    text: conversation.text,
    toolResult: conversation.toolResult,
    inputTokens: conversation.tokens + (beside.length === 0 ? 0 : estimateTokens(JSON.stringify(beside))),
    generates: true,
    tools,
    toolChoice: readChoice(body.tool_choice, tools),
    parallelCalls: true,
    format,
    outputTokensMax: numberAt(body.max_tokens, "max_tokens", 1, ANY),
    stop,
    choices: 1,
    thinks: readThinking(body.thinking, textAt(body.model, "model")),
  };
}

function readTool(value: unknown, at: string): AskTool {
  const tool = objectAt(value, at);
  checkMembers(tool, ["type", "function"], `${at}.`);
  if (tool.type !== "function") wrong(`${at}.type must be function`);
  const made = objectAt(tool.function, `${at}.function`);
  checkMembers(made, ["name", "description", "parameters"], `${at}.function.`);
  const parameters = objectAt(made.parameters, `${at}.function.parameters`);
  if (parameters.type !== "object") wrong(`${at}.function.parameters must be of type object`);
  return { kind: "function", name: textAt(made.name, `${at}.function.name`), parameters };
}

function readChoice(value: unknown, tools: readonly AskTool[]): ToolChoice {
  if (value === undefined) return { mode: tools.length > 0 ? "auto" : "none", name: null };
  if (value !== "REQUIRED" && value !== "NONE") wrong("tool_choice must be one of REQUIRED, NONE");
  if (tools.length === 0) wrong("tool_choice needs tools");
  return { mode: value === "REQUIRED" ? "required" : "none", name: null };
}

function readFormat(value: unknown, besides: boolean): AskFormat {
  if (value === undefined) return { kind: "text" };
  const format = objectAt(value, "response_format");
  checkMembers(format, ["type", "json_schema", "schema"], "response_format.");
  if (format.type === "text") return { kind: "text" };
  if (format.type !== "json_object") wrong("response_format.type must be one of text, json_object");
  if (besides) wrong("response_format is not supported with tools or documents");
  const schema = format.json_schema;
  if (schema === undefined) return { kind: "json" };
  if (!isObject(schema) || schema.type !== "object") wrong("response_format.json_schema must be of type object");
  return { kind: "schema", schema };
}

/** Only some models think, and any other is not to be told how. */
function readThinking(value: unknown, model: string): boolean {
  if (value === undefined) return false;
  if (!/reasoning/.test(model)) wrong(`thinking is not supported by ${model}`);
  const { type, token_budget: budget, ...rest } = objectAt(value, "thinking");
  checkMembers(rest, [], "thinking.");
  if (type !== "enabled" && type !== "disabled") wrong("thinking.type must be one of enabled, disabled");
  numberAt(budget, "thinking.token_budget", 1, ANY);
  return type === "enabled";
}
