import type { ForeignField, Tool } from "../../core/message.ts";
import { type Fields, isObject, wordOf } from "../field-checks.ts";
import { isClientSearch, type Offered, offeredTools, TOOL_SEARCH } from "./offered-tools.ts";
import { flatName } from "./tool-names.ts";

const DIALECT = "openai-responses";

/** Hosted tools that agents offer with every request, and that a model can do without. */
const OFFERS = /^(?:web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?|tool_search|image_generation)$/;
/** Members of a function tool that other dialects know, or that say nothing to them. */
const FUNCTION_FIELDS = new Set(["type", "name", "description", "parameters", "strict"]);

/**
 * The tools of a request. One that is run by the provider has meaning: the client counts on it. The exception are those that
 * coding agents merely offer (web search, tool search, pictures) beside tools of their own, unless `tool_choice` asks for one:
 * the model may do without, so they are dropped and listed.
 */
export function canonicalTools(body: Fields, foreign: ForeignField[]): Tool[] {
  const own = new Map<string, Tool>();
  const hosted: Offered[] = [];
  for (const offered of offeredTools(body)) {
    const tool = ownTool(offered);
    if (!tool) {
      hosted.push(offered);
      continue;
    }
    // A tool that is told again has changed.
    own.set(tool.name, tool);
    if (offered.tool["type"] !== "function" || offered.namespace !== null) continue;
    for (const key of Object.keys(offered.tool))
      if (!FUNCTION_FIELDS.has(key)) foreign.push({ path: `${offered.path}.${key}`, meaning: false });
  }
  const tools: Tool[] = [...own.values()];
  const offers = tools.length > 0 && !asksForHosted(body["tool_choice"]);
  for (const { path, tool: value } of hosted) {
    if ((offers && OFFERS.test(wordOf(value["type"]))) || body["tool_choice"] === "none")
      foreign.push({ path, meaning: false });
    else tools.push({ type: "hosted", dialect: DIALECT, path, value });
  }
  return tools;
}

/** A tool that the client runs itself; null for one of the provider's. */
function ownTool({ tool, namespace }: Offered): Exclude<Tool, { type: "hosted" }> | null {
  const named = typeof tool["name"] === "string" ? flatName(tool["name"], namespace) : "";
  const description = typeof tool["description"] === "string" ? { description: tool["description"] } : {};
  if (tool["type"] === "custom") {
    return { type: "custom", name: named, ...description, ...(isObject(tool["format"]) && { format: tool["format"] }) };
  }
  const search = isClientSearch(tool);
  if (tool["type"] !== "function" && !search) return null;
  const name = search ? TOOL_SEARCH : named;
  const parameters = isObject(tool["parameters"]) ? tool["parameters"] : null;
  if (search) return { type: "function", name, ...description, parameters };
  // The default is strict, and the API relaxes it by itself for a schema that is not; others would refuse such a schema.
  const strict =
    typeof tool["strict"] === "boolean" ? tool["strict"] : parameters && isStrict(parameters) ? true : undefined;
  return { type: "function", name, ...description, parameters, ...(strict !== undefined && { strict }) };
}

/** Every object of the schema is closed and requires all it has: what `strict` demands. */
function isStrict(schema: unknown): boolean {
  if (!isObject(schema)) return schema === null || typeof schema !== "object" || schemaList(schema);
  const properties = isObject(schema["properties"]) ? schema["properties"] : null;
  if (schema["type"] === "object" || properties) {
    const required = new Set<unknown>(Array.isArray(schema["required"]) ? schema["required"] : []);
    const names = Object.keys(properties ?? {});
    if (schema["additionalProperties"] !== false || !names.every((name) => required.has(name))) return false;
  }
  return (
    ["items", "anyOf", "allOf", "oneOf"].every((key) => isStrict(schema[key] ?? null)) &&
    [properties, schema["$defs"], schema["definitions"]].every(
      (named) => !isObject(named) || Object.values(named).every(isStrict),
    )
  );
}

function schemaList(schemas: unknown): boolean {
  return Array.isArray(schemas) && schemas.every(isStrict);
}

function asksForHosted(choice: unknown): boolean {
  return isObject(choice) && !["function", "custom", "allowed_tools"].includes(wordOf(choice["type"]));
}
