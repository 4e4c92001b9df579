import { isObject } from "../field-checks.ts";
import type { Shown } from "../translation.ts";
import { speaksOfFunctions } from "./canonical-tools.ts";

/** How a client wants to be told of tool calls. */
export interface ClientTools {
  /** It speaks of `functions` and takes one call, as `function_call`. */
  older: boolean;
  /** Its tools that take free text. */
  custom: ReadonlySet<string>;
}

/** What the client's own request says about it. */
export function clientTools({ call: { body } }: Shown): ClientTools {
  const custom = new Set<string>();
  for (const tool of Array.isArray(body["tools"]) ? body["tools"] : []) {
    const named: unknown = isObject(tool) && tool["type"] === "custom" ? tool["custom"] : null;
    if (isObject(named) && typeof named["name"] === "string") custom.add(named["name"]);
  }
  return { older: speaksOfFunctions(body), custom };
}

/** `req_01J…` → `chatcmpl-01J…`: one name for an answer, in the dialect's own form. */
export function answerId(prefix: string, { requestId }: Shown): string {
  return prefix + requestId.replace(/^[a-z]+_/, "");
}
