import { isObject, type JsonObject } from "../json.ts";
import type { AskTool, ToolChoice } from "../models/ask.ts";
import { refuse } from "../models/problem.ts";
import { missing, quoted, wrongType } from "../openai-refusals.ts";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const TOOLS_MAX = 128;

/** The tools of a request and how they may be used. */
export interface Toolbox {
  readonly tools: readonly AskTool[];
  readonly choice: ToolChoice;
  readonly parallel: boolean;
}

/** Reads `tools`, `tool_choice`, `parallel_tool_calls` and their predecessors `functions`, `function_call`. */
export function readTools(body: JsonObject): Toolbox {
  if (body.functions != null) return readLegacy(body);
  const offered = body.tools == null ? [] : readOffered(body.tools);
  for (const field of ["tool_choice", "parallel_tool_calls"]) {
    if (body.tools == null && body[field] != null && body[field] !== "none") {
      refuse(`Invalid value for '${field}': '${field}' is only allowed when 'tools' are specified.`, field);
    }
  }
  const { tools, choice } = choose(body.tool_choice, offered);
  return { tools, choice, parallel: body.parallel_tool_calls !== false };
}

function readOffered(value: unknown): AskTool[] {
  if (!Array.isArray(value)) return wrongType("tools", "an array of objects", value);
  if (value.length === 0) {
    const text =
      "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.";
    refuse(text, "tools", "empty_array");
  }
  if (value.length > TOOLS_MAX) {
    const text = `Invalid 'tools': array too long. Expected an array with maximum length ${TOOLS_MAX}, but got an array with length ${value.length} instead.`;
    refuse(text, "tools", "array_above_max_length");
  }
  return value.map((tool, i) => readTool(tool, `tools[${i}]`));
}

function readTool(tool: unknown, at: string): AskTool {
  if (!isObject(tool)) return wrongType(at, "an object", tool);
  if (tool.type === undefined) missing(`${at}.type`);
  if (tool.type !== "function" && tool.type !== "custom") {
    const text = `Invalid value: '${tool.type}'. Supported values are: ${quoted(["function", "custom"])}.`;
    return refuse(text, `${at}.type`, "invalid_value");
  }
  const made = tool[tool.type];
  if (!isObject(made)) return missing(`${at}.${tool.type}`);
  return { kind: tool.type, name: readName(made.name, `${at}.${tool.type}.name`), parameters: made.parameters };
}

function readName(name: unknown, at: string): string {
  if (typeof name !== "string") return missing(at);
  if (!NAME.test(name)) {
    const text = `Invalid '${at}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    refuse(text, at, "invalid_value");
  }
  return name;
}

function choose(value: unknown, tools: readonly AskTool[]): { tools: readonly AskTool[]; choice: ToolChoice } {
  if (value == null) return { tools, choice: { mode: tools.length > 0 ? "auto" : "none", name: null } };
  if (value === "none" || value === "auto" || value === "required") {
    return { tools, choice: { mode: value, name: null } };
  }
  if (!isObject(value)) {
    const text = `Invalid value: '${value}'. Supported values are: ${quoted(["none", "auto", "required"])}.`;
    return refuse(text, "tool_choice", "invalid_value");
  }
  if (value.type === "allowed_tools") return allowed(value.allowed_tools, tools);
  const kind = value.type === "custom" ? "custom" : "function";
  const named = value[kind];
  if (!isObject(named)) return missing(`tool_choice.${kind}`);
  const name = readName(named.name, `tool_choice.${kind}.name`);
  if (!tools.some((tool) => tool.name === name && tool.kind === kind)) {
    const text = `Tool choice '${kind}' not found in 'tools' parameter.`;
    refuse(text, "tool_choice");
  }
  return { tools, choice: { mode: "required", name } };
}

function allowed(value: unknown, tools: readonly AskTool[]): { tools: readonly AskTool[]; choice: ToolChoice } {
  if (!isObject(value) || !Array.isArray(value.tools)) return missing("tool_choice.allowed_tools.tools");
  const names = value.tools.map((tool) => {
    const made = isObject(tool) ? (tool.function ?? tool.custom) : undefined;
    return isObject(made) ? made.name : undefined;
  });
  const kept = tools.filter((tool) => names.includes(tool.name));
  return { tools: kept, choice: { mode: value.mode === "required" ? "required" : "auto", name: null } };
}

function readLegacy(body: JsonObject): Toolbox {
  if (!Array.isArray(body.functions)) return wrongType("functions", "an array of objects", body.functions);
  const tools = body.functions.map((made: unknown, i): AskTool => {
    const at = `functions[${i}]`;
    if (!isObject(made)) return wrongType(at, "an object", made);
    return { kind: "legacy", name: readName(made.name, `${at}.name`), parameters: made.parameters };
  });
  const call = body.function_call ?? "auto";
  if (isObject(call)) {
    const name = readName(call.name, "function_call.name");
    return { tools, choice: { mode: "required", name }, parallel: false };
  }
  return { tools, choice: { mode: call === "none" ? "none" : "auto", name: null }, parallel: false };
}
