import { LIMITS } from "../core/limits.ts";
import { keepText } from "./exact-json.ts";
import { type Fields, isObject } from "./field-checks.ts";

const QUOTE = 34;
const BACKSLASH = 92;

/**
 * A call's arguments as an object, which carries its text where it must: `{}` for none (also for `null`); undefined for text
 * that is no JSON object, or one so deep that it could not be written again: it is text like any other.
 */
export function parsedArguments(text: string): Fields | undefined {
  if (text.trim() === "") return {};
  if (nestsTooDeep(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (value === null) return {};
    return isObject(value) ? keepText(value, text) : undefined;
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

/** Deeper than a request's body may be. Looks at every character once. */
function nestsTooDeep(text: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) quoted = !quoted;
    else if (quoted) {
      if (code === BACKSLASH) at++;
    }
    // `[` and `{`, `]` and `}`: 32 apart.
    else if ((code | 32) === 123) {
      if (++depth > LIMITS.jsonDepthMax) return true;
    } else if ((code | 32) === 125) depth--;
  }
  return false;
}
