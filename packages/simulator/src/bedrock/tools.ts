import { isObject, type JsonObject } from "../json.ts";
import type { AskTool, ToolChoice } from "../models/ask.ts";
import { readPoint, type Tally } from "./blocks.ts";
import { listAt, memberOf, objectAt, textAt, wrong } from "./refusals.ts";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** The tools of a request and how they may be used. */
export interface Toolbox {
  readonly tools: readonly AskTool[];
  readonly choice: ToolChoice;
}

/** Reads `toolConfig`; `needed`: the history holds calls, which it must tell of. */
export function readTools(value: unknown, needed: boolean, tally: Tally): Toolbox {
  if (value === undefined) {
    if (needed) wrong("The toolConfig field must be defined when using toolUse and toolResult content blocks.");
    return { tools: [], choice: { mode: "none", name: null } };
  }
  const config = objectAt(value, "toolConfig");
  const list = listAt(config.tools, "toolConfig.tools");
  if (list.length === 0)
    wrong(
      "1 validation error detected: Value at 'toolConfig.tools' failed to satisfy constraint: Member must have length greater than or equal to 1",
    );
  const tools = list.flatMap((item, i) => readTool(item, `toolConfig.tools.${i}`, tally) ?? []);
  const twice = tools.find((tool, i) => tools.findIndex((other) => other.name === tool.name) !== i);
  if (twice !== undefined) wrong(`The tool ${twice.name} is already defined at toolConfig.tools.`);
  return { tools, choice: readChoice(config.toolChoice, tools) };
}

function readTool(item: unknown, at: string, tally: Tally): AskTool | null {
  const [member, content] = memberOf(item, ["toolSpec", "cachePoint", "systemTool"], at);
  if (member === "cachePoint") {
    readPoint(content, at, tally);
    return null;
  }
  if (member === "systemTool") return null;
  const { name, description, inputSchema } = objectAt(content, at);
  const named = textAt(name, `${at}.toolSpec.name`, NAME);
  if (description !== undefined) textAt(description, `${at}.toolSpec.description`, /\S/);
  const { json } = objectAt(inputSchema, `${at}.toolSpec.inputSchema`);
  if (!isObject(json) || json.type !== "object") {
    wrong(`The value at ${at}.toolSpec.inputSchema.json.type must be one of the following: object.`, at);
  }
  tally.text(JSON.stringify(content));
  return { kind: "function", name: named, parameters: json };
}

function readChoice(value: unknown, tools: readonly AskTool[]): ToolChoice {
  if (value === undefined) return { mode: "auto", name: null };
  const [member, content] = memberOf(value, ["auto", "any", "tool"], "toolConfig.toolChoice");
  if (member !== "tool") return { mode: member === "any" ? "required" : "auto", name: null };
  const name = textAt((content as JsonObject).name, "toolConfig.toolChoice.tool.name", NAME);
  if (!tools.some((tool) => tool.name === name)) wrong(`The tool ${name} of toolConfig.toolChoice is not defined.`);
  return { mode: "required", name };
}
