import { isObject, type JsonObject } from "../json.ts";
import type { AskTool, ToolChoice } from "../models/ask.ts";
import { refuse } from "../models/problem.ts";
import { missing, wrongType } from "../openai-refusals.ts";
import { notAmong } from "./content.ts";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const TOOLS_MAX = 128;
const MODES = ["none", "auto", "required"] as const;
/** Tools that run at the vendor's; the simulator never calls them. */
const HOSTED = `web_search web_search_preview file_search computer computer_use_preview mcp code_interpreter
  image_generation local_shell shell apply_patch tool_search`.split(/\s+/);

/** The tools of a request and how they may be used. */
export interface Toolbox {
  readonly tools: readonly AskTool[];
  readonly choice: ToolChoice;
}

/** Reads the tools of a body and of `additional_tools` among its items, and `tool_choice`; functions of a namespace count. */
export function readTools(body: JsonObject): Toolbox {
  const { tools: offered, input, tool_choice: choice } = body;
  if (offered != null && !Array.isArray(offered)) return wrongType("tools", "an array of objects", offered);
  const list: unknown[] = offered ?? [];
  if (list.length > TOOLS_MAX) {
    const text = `Invalid 'tools': array too long. Expected an array with maximum length ${TOOLS_MAX}, but got an array with length ${list.length} instead.`;
    refuse(text, "tools", "array_above_max_length");
  }
  const tools = list.flatMap((tool, i) => readTool(tool, `tools[${i}]`));
  for (const [i, item] of Array.isArray(input) ? input.entries() : []) {
    if (!isObject(item) || item.type !== "additional_tools") continue;
    if (!Array.isArray(item.tools)) return missing(`input[${i}].tools`);
    tools.push(...item.tools.flatMap((tool: unknown, k) => readTool(tool, `input[${i}].tools[${k}]`)));
  }
  return choose(choice, tools);
}

function readTool(tool: unknown, at: string): AskTool[] {
  if (!isObject(tool)) return wrongType(at, "an object", tool);
  const { type } = tool;
  if (type === undefined) return missing(`${at}.type`);
  if (type === "function" || type === "custom") {
    return [{ kind: type, name: readName(tool.name, `${at}.name`), parameters: tool.parameters }];
  }
  if (type === "namespace") {
    const namespace = readName(tool.name, `${at}.name`);
    if (!Array.isArray(tool.tools)) return missing(`${at}.tools`);
    const inner = tool.tools.flatMap((one: unknown, i) => readTool(one, `${at}.tools[${i}]`));
    return inner.map((one) => ({ ...one, namespace }));
  }
  if (typeof type === "string" && HOSTED.includes(type.replace(/_\d{4}_\d\d_\d\d$/, ""))) return [];
  return notAmong(type, ["function", "custom", "namespace", ...HOSTED], `${at}.type`);
}

function readName(name: unknown, at: string): string {
  if (typeof name !== "string") return missing(at);
  if (!NAME.test(name)) {
    const text = `Invalid '${at}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    refuse(text, at, "invalid_value");
  }
  return name;
}

function choose(value: unknown, tools: readonly AskTool[]): Toolbox {
  if (value == null) return { tools, choice: { mode: tools.length > 0 ? "auto" : "none", name: null } };
  if (!isObject(value)) {
    const mode = MODES.find((known) => known === value) ?? notAmong(value, MODES, "tool_choice");
    return { tools, choice: { mode, name: null } };
  }
  if (value.type === "allowed_tools") return allowed(value, tools);
  if (value.type !== "function" && value.type !== "custom") return { tools, choice: { mode: "auto", name: null } };
  const name = readName(value.name, "tool_choice.name");
  if (!tools.some((tool) => tool.name === name && tool.kind === value.type)) {
    refuse(`Tool choice '${value.type}' not found in 'tools' parameter.`, "tool_choice");
  }
  return { tools, choice: { mode: "required", name } };
}

function allowed(value: JsonObject, tools: readonly AskTool[]): Toolbox {
  if (!Array.isArray(value.tools)) return missing("tool_choice.tools");
  const names = value.tools.map((tool: unknown) => (isObject(tool) ? tool.name : undefined));
  const kept = tools.filter((tool) => names.includes(tool.name));
  return { tools: kept, choice: { mode: value.mode === "required" ? "required" : "auto", name: null } };
}
