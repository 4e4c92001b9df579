import type { CanonicalRequest, Tool, ToolChoice } from "../../core/message.ts";
import { CUSTOM_TOOL_PARAMETERS } from "../tool-arguments.ts";
import { wireToolName } from "../tool-names.ts";
import { withCache } from "./encode-blocks.ts";
import type { ModelRules } from "./models.ts";
import { isStrict, toolSchema } from "./schema.ts";
import { NAME, type Wire } from "./wire.ts";

/** Anthropic takes no more strict tools in one request. */
const STRICT_TOOLS_MAX = 20;

/** The tools of a request on the wire. */
export interface WireTools {
  tools: Wire[];
  choice: Wire | null;
}

/** Whether Anthropic can be told of a tool. */
export function canOffer(tool: Tool): boolean {
  if (tool.type === "hosted") return tool.dialect === NAME;
  if (wireToolName(tool.name) === null) return false;
  return tool.type === "custom" || toolSchema(tool.parameters) !== null;
}

/** Tools and choice; those that cannot be told are left out, hints without a place added to `dropped`. */
export function encodeTools(
  request: CanonicalRequest,
  rules: ModelRules,
  leaveOut: { tools: boolean; choice: boolean },
  dropped: Set<string>,
): WireTools {
  const offered = leaveOut.tools ? [] : request.tools.filter(canOffer);
  const choice = leaveOut.choice ? null : request.toolChoice;
  // Of a subset, only the subset is offered: there is no other way to say it.
  const allowed = choice?.type === "allowed" ? new Set(choice.names) : null;
  let strict = 0;
  const tools = offered
    .filter((tool) => !allowed || tool.type === "hosted" || allowed.has(tool.name))
    .map((tool) =>
      encodeTool(
        tool,
        (parameters) => rules.structured && strict++ < STRICT_TOOLS_MAX && isStrict(parameters),
        dropped,
      ),
    );
  if (tools.length > 0) return { tools, choice: encodeChoice(choice, request.parallelToolCalls) };
  // Calls in the history need their tools to be known; there are none to call.
  const known = calledNames(request);
  if (known.length === 0) return { tools, choice: null };
  return { tools: known.map((name) => ({ name, input_schema: toolSchema(null) })), choice: { type: "none" } };
}

function encodeTool(tool: Tool, canBeStrict: (parameters: Wire) => boolean, dropped: Set<string>): Wire {
  if (tool.type === "hosted") return { ...(tool.value as Wire) };
  const name = wireToolName(tool.name) ?? tool.name;
  if (tool.type === "custom") return freeText(name, tool.description, tool.format);
  const parameters = toolSchema(tool.parameters) ?? {};
  const strict = tool.strict === true && canBeStrict(parameters);
  if (tool.strict === true && !strict) dropped.add("strict");
  return withCache(
    {
      name,
      ...(tool.description !== undefined && { description: tool.description }),
      input_schema: parameters,
      ...(strict && { strict: true }),
    },
    tool.cache,
  );
}

/** A free-text tool as a function of one string; a grammar it has is told to the model. */
function freeText(name: string, description: string | undefined, format: unknown): Wire {
  const grammar = format && JSON.stringify(format) !== '{"type":"text"}' ? format : null;
  const words = [description, grammar && `The input must be of this form: ${JSON.stringify(grammar)}`];
  const told = words.filter(Boolean).join("\n\n");
  return { name, ...(told !== "" && { description: told }), input_schema: CUSTOM_TOOL_PARAMETERS };
}

function encodeChoice(choice: ToolChoice | null, parallel: boolean | null): Wire | null {
  const single = parallel === false ? { disable_parallel_tool_use: true } : {};
  switch (choice?.type) {
    case undefined:
      return parallel === false ? { type: "auto", ...single } : null;
    case "none":
      return { type: "none" };
    case "named":
      return { type: "tool", name: wireToolName(choice.name) ?? choice.name, ...single };
    case "allowed":
      return { type: choice.mode === "required" ? "any" : "auto", ...single };
    case "required":
      return { type: "any", ...single };
    default:
      return { type: "auto", ...single };
  }
}

function calledNames({ messages }: CanonicalRequest): string[] {
  const names = new Set<string>();
  for (const { blocks } of messages) {
    for (const block of blocks) if (block.type === "tool_call") names.add(wireToolName(block.name) ?? "tool");
  }
  return [...names];
}
