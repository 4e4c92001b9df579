import type { CanonicalRequest, Tool, ToolChoice } from "../../core/message.ts";
import { type Fields, isAbsent, isObject, wrongField } from "../field-checks.ts";
import { cacheOf } from "./canonical-content.ts";

const CHAT = "openai-chat";

/** `tools`, and the deprecated `functions`. */
export function canonicalTools(body: Fields): Tool[] {
  const tools = Array.isArray(body["tools"]) ? body["tools"].map(readTool) : [];
  const functions = Array.isArray(body["functions"]) ? body["functions"] : [];
  return [
    ...tools,
    ...functions.map((definition: unknown, index) => {
      if (!isObject(definition)) throw wrongField(`functions[${index}]`, "an object");
      return readFunction(definition, definition, `functions[${index}]`);
    }),
  ];
}

function readTool(tool: unknown, index: number): Tool {
  const path = `tools[${index}]`;
  if (!isObject(tool)) throw wrongField(path, "an object");
  const { type, custom } = tool;
  const definition = tool["function"];
  if ((type === "function" || isAbsent(type)) && isObject(definition)) return readFunction(definition, tool, path);
  if (type !== "custom" || !isObject(custom)) return { type: "hosted", dialect: CHAT, path, value: tool };
  const { name, description } = custom;
  if (typeof name !== "string" || name === "") throw wrongField(`${path}.custom.name`, "a non-empty string");
  const format = flatFormat(custom["format"]);
  return {
    type: "custom",
    name,
    ...(typeof description === "string" && { description }),
    ...(format !== undefined && { format }),
  };
}

/** The grammar of chat stands in a member of its own; the canonical one is flat. */
function flatFormat(format: unknown): unknown {
  if (!isObject(format)) return undefined;
  const { grammar, ...rest } = format;
  return isObject(grammar) ? { ...rest, ...grammar } : rest;
}

function readFunction(definition: Fields, tool: Fields, path: string): Tool {
  const { name, description, parameters, strict } = definition;
  if (typeof name !== "string" || name === "") throw wrongField(`${path}.function.name`, "a non-empty string");
  if (!isAbsent(parameters) && !isObject(parameters)) throw wrongField(`${path}.function.parameters`, "a JSON Schema");
  return {
    type: "function",
    name,
    ...(typeof description === "string" && { description }),
    parameters: parameters ?? null,
    ...(typeof strict === "boolean" && { strict }),
    ...cacheOf({ ...definition, ...tool }),
  };
}

/** `tool_choice` in all its forms, or the deprecated `function_call`. */
export function canonicalToolChoice(body: Fields): ToolChoice | null {
  const choice = body["tool_choice"];
  if (isAbsent(choice)) return olderChoice(body["function_call"]);
  if (choice === "auto" || choice === "none" || choice === "required") return { type: choice };
  // Mistral's word.
  if (choice === "any") return { type: "required" };
  const allowed = isObject(choice) ? choice["allowed_tools"] : null;
  if (isObject(allowed)) {
    const tools = Array.isArray(allowed["tools"]) ? allowed["tools"] : [];
    const names = tools.map(nameOf).filter((name) => name !== null);
    return { type: "allowed", mode: allowed["mode"] === "required" ? "required" : "auto", names };
  }
  const name = nameOf(choice);
  if (name === null) throw wrongField("tool_choice", "auto, none, required, or an object that names a tool");
  return { type: "named", name };
}

function olderChoice(choice: unknown): ToolChoice | null {
  if (isAbsent(choice)) return null;
  if (choice === "auto" || choice === "none") return { type: choice };
  const name = isObject(choice) ? choice["name"] : null;
  if (typeof name !== "string") throw wrongField("function_call", "auto, none, or { name }");
  return { type: "named", name };
}

function nameOf(tool: unknown): string | null {
  if (!isObject(tool)) return null;
  const named = tool["function"] ?? tool["custom"] ?? tool;
  return isObject(named) && typeof named["name"] === "string" ? named["name"] : null;
}

/** True for a client that speaks of `functions`: it gets its one call as `function_call`. */
export function speaksOfFunctions(body: Fields): boolean {
  return Array.isArray(body["functions"]) && body["functions"].length > 0 && isAbsent(body["tools"]);
}

/** Names of the tools that take free text. */
export function customToolNames(tools: CanonicalRequest["tools"]): ReadonlySet<string> {
  return new Set(tools.flatMap((tool) => (tool.type === "custom" ? [tool.name] : [])));
}
