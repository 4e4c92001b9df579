import { type Fields, isObject } from "../field-checks.ts";

const MEMBERS: readonly string[] = ["name", "description", "parameters", "strict"];

/** Tools as a strict server takes them: functions with parameters, and nothing beside. Null where they fit as they are. */
export function strictTools(tools: readonly unknown[], dropped: Set<string>): unknown[] | null {
  const fitted = tools.map((tool) =>
    isObject(tool) && isObject(tool["function"]) ? fit(tool, tool["function"], dropped) : tool,
  );
  return fitted.every((tool, at) => tool === tools[at]) ? null : fitted;
}

function fit(tool: Fields, given: Fields, dropped: Set<string>): Fields {
  const extra = Object.keys(tool).filter((key) => key !== "type" && key !== "function");
  const known = Object.keys(given).every((key) => MEMBERS.includes(key) && given[key] !== null);
  if (extra.length === 0 && known && given["parameters"] !== undefined) return tool;
  if (extra.includes("cache_control")) dropped.add("cache_control");
  const { name, description, parameters, strict } = given;
  return {
    type: "function",
    function: {
      name,
      ...(typeof description === "string" && { description }),
      parameters: isObject(parameters) ? parameters : { type: "object", properties: {} },
      ...(typeof strict === "boolean" && { strict }),
    },
  };
}
