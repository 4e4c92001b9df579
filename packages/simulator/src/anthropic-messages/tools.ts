import { isObject, type JsonObject } from "../json.ts";
import type { AskTool, ToolChoice } from "../models/ask.ts";
import { readMark } from "./input-blocks.ts";
import { checkMembers, listAt, objectAt, stringAt, wrong } from "./refusals.ts";
import type { Tally } from "./tally.ts";

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const CUSTOM = `type name description input_schema cache_control strict defer_loading eager_input_streaming
  input_examples allowed_callers`.split(/\s+/);
/** Tools that Anthropic runs or defines itself: offered, never called here. */
const OWN_TOOL =
  /^(bash|text_editor|web_search|web_fetch|code_execution|memory|tool_search_tool_[a-z0-9]+|computer|advisor)_\d{8}$|^mcp_toolset$/;

/** The tools of a request and how they may be used. */
export interface Toolbox {
  readonly tools: readonly AskTool[];
  readonly choice: ToolChoice;
  readonly parallel: boolean;
}

/** Reads `tools` and `tool_choice`. */
export function readTools(body: JsonObject, tally: Tally): Toolbox {
  const tools = body.tools == null ? [] : readOffered(body.tools, tally);
  const choice = body.tool_choice;
  if (choice == null) {
    return { tools, choice: { mode: tools.length > 0 ? "auto" : "none", name: null }, parallel: true };
  }
  if (body.tools == null) wrong("", "tool_choice may only be specified while providing tools");
  const given = objectAt(choice, "tool_choice");
  const known = given.type === "tool" ? ["type", "name", "disable_parallel_tool_use"] : ["type", PARALLEL];
  const mode = MODES.get(given.type);
  if (mode === undefined) {
    const words = "does not match any of the expected tags: 'auto', 'any', 'tool', 'none'";
    return wrong("tool_choice", `Input tag '${given.type}' found using 'type' ${words}`);
  }
  checkMembers(given, mode === "none" ? ["type"] : known, `tool_choice.${given.type}`);
  const name = given.type === "tool" ? stringAt(given.name, "tool_choice.tool.name") : null;
  if (name !== null && !tools.some((tool) => tool.name === name)) {
    wrong("", `Tool '${name}' not found in provided tools`);
  }
  return { tools, choice: { mode, name }, parallel: given[PARALLEL] !== true };
}

const MODES: ReadonlyMap<unknown, ToolChoice["mode"]> = new Map([
  ["auto", "auto"],
  ["any", "required"],
  ["tool", "required"],
  ["none", "none"],
]);
const PARALLEL = "disable_parallel_tool_use";

function readOffered(value: unknown, tally: Tally): AskTool[] {
  const tools: AskTool[] = [];
  const names = new Set<string>();
  for (const [i, item] of listAt(value, "tools").entries()) {
    const at = `tools.${i}`;
    const tool = objectAt(item, at);
    readMark(tool, at, tally);
    if (typeof tool.type === "string" && OWN_TOOL.test(tool.type)) continue;
    const made = readCustom(tool, at);
    if (names.has(made.name)) wrong("tools", "Tool names must be unique.");
    names.add(made.name);
    tools.push(made);
  }
  return tools;
}

function readCustom(tool: JsonObject, at: string): AskTool {
  if (tool.type != null && tool.type !== "custom") {
    const words = "does not match any of the expected tags: 'bash_20250124', 'custom', 'text_editor_20250124', …";
    wrong(at, `Input tag '${tool.type}' found using 'type' ${words}`);
  }
  checkMembers(tool, CUSTOM, `${at}.custom`);
  const name = stringAt(tool.name, `${at}.custom.name`);
  if (!NAME.test(name)) wrong(`${at}.custom.name`, `String should match pattern '${NAME.source}'`);
  if (tool.description != null) stringAt(tool.description, `${at}.custom.description`);
  const schema = objectAt(tool.input_schema, `${at}.custom.input_schema`);
  if (schema.type === undefined) wrong(`${at}.custom.input_schema.type`, "Field required");
  if (schema.type !== "object") wrong(`${at}.custom.input_schema.type`, "Input should be 'object'");
  for (const word of ["oneOf", "allOf", "anyOf"]) {
    if (!(word in schema)) continue;
    wrong(`${at}.custom.input_schema`, "input_schema does not support oneOf, allOf, or anyOf at the top level");
  }
  if (schema.properties != null && !isObject(schema.properties)) {
    wrong(`${at}.custom.input_schema`, "JSON schema is invalid. It must match JSON Schema draft 2020-12");
  }
  return { kind: "function", name, parameters: schema };
}
