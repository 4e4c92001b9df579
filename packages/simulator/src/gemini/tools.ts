import { isObject, type JsonObject } from "../json.ts";
import type { AskTool, ToolChoice } from "../models/ask.ts";
import { badValue, listAt, membersOf, stringAt, wrong } from "./refusals.ts";
import { readSchema } from "./schema.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/;
const TOOL = `functionDeclarations googleSearch googleSearchRetrieval codeExecution urlContext computerUse
  fileSearch googleMaps`.split(/\s+/);
const DECLARATION = [
  "name",
  "description",
  "behavior",
  "parameters",
  "parametersJsonSchema",
  "response",
  "responseJsonSchema",
];
const MODES = ["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"];

/** The tools of a request and how they may be used. */
export interface Toolbox {
  readonly tools: readonly AskTool[];
  readonly choice: ToolChoice;
  /** Arguments are to be streamed in pieces. */
  readonly partialArgs: boolean;
}

/** Reads `tools` and `toolConfig`. */
export function readTools(body: JsonObject): Toolbox {
  const tools: AskTool[] = [];
  for (const [i, item] of listAt(body.tools, "tools").entries()) {
    const tool = membersOf(item, TOOL, `tools[${i}]`);
    const declared = listAt(tool.functionDeclarations, `tools[${i}].function_declarations`);
    for (const [k, made] of declared.entries()) {
      tools.push(readDeclaration(made, `tools[${i}].function_declarations[${k}]`));
    }
  }
  const twice = tools.find((tool, i) => tools.findIndex((other) => other.name === tool.name) !== i);
  if (twice !== undefined) wrong(`Duplicate function declaration found: ${twice.name}`);
  return choose(body.toolConfig, tools);
}

function readDeclaration(value: unknown, at: string): AskTool {
  const made = membersOf(value, DECLARATION, at);
  const name = stringAt(made.name, `${at}.name`) ?? "";
  if (!NAME.test(name)) {
    wrong(
      `* GenerateContentRequest.${at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.`,
    );
  }
  if (made.parameters !== undefined && made.parametersJsonSchema !== undefined) {
    wrong(`* GenerateContentRequest.${at}: only one of parameters and parameters_json_schema may be set`);
  }
  if (made.parametersJsonSchema !== undefined) {
    const schema = made.parametersJsonSchema;
    if (!isObject(schema)) badValue(schema, `${at}.parameters_json_schema`, "Object");
    return { kind: "function", name, parameters: schema };
  }
  if (made.parameters === undefined) return { kind: "function", name, parameters: { type: "object" } };
  const parameters = readSchema(made.parameters, `${at}.parameters`);
  if (parameters.type !== "object") {
    wrong(`* GenerateContentRequest.${at}.parameters: schema at top-level must be of type OBJECT`);
  }
  return { kind: "function", name, parameters };
}

function choose(value: unknown, tools: readonly AskTool[]): Toolbox {
  const unsaid: Toolbox = {
    tools,
    choice: { mode: tools.length > 0 ? "auto" : "none", name: null },
    partialArgs: false,
  };
  if (value === undefined) return unsaid;
  const config = membersOf(
    value,
    ["functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations"],
    "tool_config",
  );
  if (config.functionCallingConfig === undefined) return unsaid;
  const at = "tool_config.function_calling_config";
  const calling = membersOf(
    config.functionCallingConfig,
    ["mode", "allowedFunctionNames", "streamFunctionCallArguments"],
    at,
  );
  const mode = stringAt(calling.mode, `${at}.mode`) ?? "AUTO";
  if (!MODES.includes(mode))
    badValue(mode, `${at}.mode`, "type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode");
  const allowed = listAt(calling.allowedFunctionNames, `${at}.allowed_function_names`);
  if (allowed.length > 0 && mode !== "ANY" && mode !== "VALIDATED") {
    wrong("Please set function_calling_config.mode to ANY or VALIDATED when allowed_function_names is set.");
  }
  const stray = allowed.find((name) => !tools.some((tool) => tool.name === name));
  if (stray !== undefined) wrong(`Please make sure all allowed_function_names are declared: ${stray} is not.`);
  if (mode === "ANY" && tools.length === 0) {
    wrong("Function calling config is set without function_declarations.");
  }
  const kept = allowed.length > 0 ? tools.filter((tool) => allowed.includes(tool.name)) : tools;
  const only = kept.length === 1 && allowed.length === 1 ? (kept[0]?.name ?? null) : null;
  const partialArgs = calling.streamFunctionCallArguments === true;
  if (mode === "ANY") return { tools: kept, choice: { mode: "required", name: only }, partialArgs };
  if (mode === "NONE") return { tools, choice: { mode: "none", name: null }, partialArgs };
  return { tools: kept, choice: { mode: kept.length > 0 ? "auto" : "none", name: null }, partialArgs };
}
