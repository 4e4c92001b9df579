import type { CanonicalRequest, Tool, ToolChoice } from "../../core/message.ts";
import { isStrict, toolSchema } from "../anthropic-messages/schema.ts";
import { describedSchema } from "../described-schema.ts";
import { CUSTOM_TOOL_PARAMETERS } from "../tool-arguments.ts";
import { wireToolName } from "../tool-names.ts";
import { cachePoint } from "./cache-point.ts";
import type { ModelRules } from "./models.ts";
import { ANSWER_TOOL, type Wire } from "./wire.ts";

/** Bedrock takes no longer name. */
const NAME_CHARS_MAX = 64;
/** Anthropic takes no more strict tools in one request. */
const STRICT_TOOLS_MAX = 20;

/** A tool's name in Bedrock's alphabet, to be read back without the request; null: it has none that is short enough. */
export function toolName(name: string): string | null {
  const wire = wireToolName(name);
  return wire !== null && wire.length <= NAME_CHARS_MAX ? wire : null;
}

/** Whether Bedrock can be told of a tool. */
export function canOffer(tool: Tool): boolean {
  if (tool.type === "hosted" || toolName(tool.name) === null) return false;
  return tool.type === "custom" || toolSchema(tool.parameters) !== null;
}

/** The `toolConfig` of a request; null for none. Hints without a place are added to `dropped`. */
export function encodeTools(
  request: CanonicalRequest,
  rules: ModelRules,
  leaveOut: { tools: boolean; choice: boolean },
  dropped: Set<string>,
): { tools: Wire[]; toolChoice?: Wire } | null {
  const choice = leaveOut.choice ? null : request.toolChoice;
  const offered = leaveOut.tools ? [] : chosen(request.tools.filter(canOffer), choice, rules);
  const called = calledNames(request);
  // Calls in the history need their tools to be known.
  if (offered.length === 0 || (choice?.type === "none" && called.length === 0)) {
    return called.length === 0 ? null : { tools: called.map((name) => spec(name, toolSchema(null) ?? {})) };
  }
  let strict = 0;
  const tools = offered.flatMap((tool) => {
    const mayBeStrict = (parameters: Wire): boolean =>
      rules.claude !== null && rules.form === "schema" && strict++ < STRICT_TOOLS_MAX && isStrict(parameters);
    return encodeTool(tool, rules, mayBeStrict, dropped);
  });
  const toolChoice = encodeChoice(choice, rules);
  return { tools, ...(toolChoice && { toolChoice }) };
}

/** The tool that an answer of this form is the arguments of, forced. */
export function answerTool(format: Extract<CanonicalRequest["responseFormat"], { type: "json_schema" }>): {
  tools: Wire[];
  toolChoice: Wire;
} {
  const schema = toolSchema(describedSchema(format)) ?? {};
  const tool = spec(
    ANSWER_TOOL,
    schema,
    format.description ?? "The answer. Call this tool with it, and say nothing else.",
  );
  return { tools: [tool], toolChoice: { tool: { name: ANSWER_TOOL } } };
}

/** Names of the tools that the history calls. */
export function calledNames({ messages }: CanonicalRequest): string[] {
  const names = messages.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (block.type === "tool_call" ? [toolName(block.name) ?? "tool"] : [])),
  );
  return [...new Set(names)];
}

/** Of a subset, only the subset is offered; and where a certain tool cannot be demanded, it alone. */
function chosen(tools: readonly Tool[], choice: ToolChoice | null, rules: ModelRules): Tool[] {
  const only =
    choice?.type === "allowed"
      ? choice.names
      : choice?.type === "named" && rules.choice === "any"
        ? [choice.name]
        : null;
  if (only === null) return [...tools];
  const names = new Set(only);
  return tools.filter((tool) => tool.type !== "hosted" && names.has(tool.name));
}

function encodeTool(
  tool: Tool,
  rules: ModelRules,
  mayBeStrict: (parameters: Wire) => boolean,
  dropped: Set<string>,
): Wire[] {
  if (tool.type === "hosted") return [];
  const name = toolName(tool.name) ?? tool.name;
  if (tool.type === "custom") {
    const grammar = tool.format && JSON.stringify(tool.format) !== '{"type":"text"}' ? tool.format : null;
    const words = [tool.description, grammar && `The input must be of this form: ${JSON.stringify(grammar)}`];
    return [spec(name, CUSTOM_TOOL_PARAMETERS, words.filter(Boolean).join("\n\n"))];
  }
  const parameters = toolSchema(tool.parameters) ?? {};
  const strict = tool.strict === true && mayBeStrict(parameters);
  if (tool.strict === true && !strict) dropped.add("strict");
  const told = [spec(name, parameters, tool.description, strict)];
  if (!tool.cache) return told;
  if (rules.caching?.tools) return [...told, cachePoint(tool.cache, rules.caching.long)];
  dropped.add("cache_control");
  return told;
}

/** Bedrock refuses a description without a letter in it. */
function spec(name: string, json: Wire, description = "", strict = false): Wire {
  const said = description.trim() === "" ? {} : { description };
  return { toolSpec: { name, ...said, inputSchema: { json }, ...(strict && { strict }) } };
}

function encodeChoice(choice: ToolChoice | null, rules: ModelRules): Wire | null {
  switch (choice?.type) {
    case "required":
      return { any: {} };
    case "named":
      return rules.choice === "any" ? { any: {} } : { tool: { name: toolName(choice.name) ?? choice.name } };
    case "allowed":
      return choice.mode === "required" ? { any: {} } : { auto: {} };
    case "auto":
      return { auto: {} };
    default:
      return null;
  }
}
