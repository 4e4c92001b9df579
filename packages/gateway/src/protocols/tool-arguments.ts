import { type Fields, isObject } from "./field-checks.ts";

/** A call's arguments as an object: `{}` for none (also for `null`); undefined for text that is no JSON object. */
export function parsedArguments(text: string): Fields | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (value === null) return {};
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Arguments for a dialect that takes objects only: what is none goes as `{ "__raw_arguments": text }`. */
export function argumentsObject(call: { arguments?: Fields; text: string }): Fields {
  return call.arguments ?? { __raw_arguments: call.text };
}

/** The parameters of a custom tool where only functions are known. */
export const CUSTOM_TOOL_PARAMETERS = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
} as const;

/** The input of a custom tool's call that was made as a function's: its `input`; what is anything else, as it is. */
export function customInput(text: string): string {
  const input = parsedArguments(text)?.["input"];
  return typeof input === "string" ? input : text;
}
