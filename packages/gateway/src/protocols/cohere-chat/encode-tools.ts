import type { CanonicalRequest, Tool } from "../../core/message.ts";
import { objectParameters } from "../object-parameters.ts";
import { CUSTOM_TOOL_PARAMETERS } from "../tool-arguments.ts";
import { sentToolName } from "../tool-names.ts";
import type { Wire } from "./wire.ts";

type Offered = Exclude<Tool, { type: "hosted" }>;

/** The tools that may be called: where one is named, or some are allowed, those alone, since there is no word for it. */
export function offeredTools({ tools, toolChoice }: CanonicalRequest): Offered[] {
  const own = tools.filter((tool): tool is Offered => tool.type !== "hosted");
  if (toolChoice?.type === "named") return own.filter((tool) => tool.name === toolChoice.name);
  if (toolChoice?.type !== "allowed") return own;
  const allowed = new Set(toolChoice.names);
  return own.filter((tool) => allowed.has(tool.name));
}

/** `tools` and `tool_choice`. What `inexpressible` has named is left out; hints that find no place are added to `dropped`. */
export function encodeTools(request: CanonicalRequest, lost: ReadonlySet<string>, dropped: Set<string>): Wire {
  const { toolChoice, parallelToolCalls } = request;
  const choice = lost.has("tool_choice") ? null : toolChoice;
  const offered = offeredTools({ ...request, toolChoice: choice });
  if (parallelToolCalls === false && offered.length > 0) dropped.add("parallel_tool_calls");
  // Beside a form of the answer Cohere takes no tools, not even to be told to leave them alone.
  const excluded = request.responseFormat !== null && choice?.type === "none" && !lost.has("response_format");
  if (offered.length === 0 || excluded) return {};
  const word = wordOf(choice);
  return {
    tools: offered.map((tool) => encodeTool(tool, dropped)),
    ...(word !== null && { tool_choice: word }),
  };
}

function wordOf(choice: CanonicalRequest["toolChoice"]): "REQUIRED" | "NONE" | null {
  if (choice?.type === "none") return "NONE";
  if (choice?.type === "required" || choice?.type === "named") return "REQUIRED";
  return choice?.type === "allowed" && choice.mode === "required" ? "REQUIRED" : null;
}

function encodeTool(tool: Offered, dropped: Set<string>): Wire {
  const { description } = tool;
  if (tool.type === "function") {
    // Cohere's strictness is of all tools or none, and not every schema can be held to it.
    if (tool.strict !== undefined) dropped.add("strict");
    if (tool.cache) dropped.add("cache_control");
  }
  const parameters = tool.type === "custom" ? CUSTOM_TOOL_PARAMETERS : objectParameters(tool.parameters ?? {});
  const name = sentToolName(tool.name);
  return { type: "function", function: { name, ...(description !== undefined && { description }), parameters } };
}
