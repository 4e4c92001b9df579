import { isObject } from "../json.ts";
import { piecesOf, textPart } from "../models/text.ts";

/** One step towards the arguments of a call, as Vertex AI streams them where asked. */
type PartialArg = { readonly jsonPath: string; readonly willContinue?: true } & Readonly<Record<string, unknown>>;

/** The `functionCall` members of a call whose arguments come in pieces, between its opening and its end. */
export function partialCalls(text: string): string[] {
  return leavesOf(parsed(text), "$").map((arg) => JSON.stringify({ partialArgs: [arg], willContinue: true }));
}

/** Every value at the end of a path; a string comes in fragments, and an empty one closes it. */
function leavesOf(value: unknown, path: string): PartialArg[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => leavesOf(item, `${path}[${i}]`));
  if (isObject(value)) return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, `${path}.${name}`));
  if (typeof value === "number") return [{ jsonPath: path, numberValue: value }];
  if (typeof value === "boolean") return [{ jsonPath: path, boolValue: value }];
  if (typeof value !== "string") return [{ jsonPath: path, nullValue: "NULL_VALUE" }];
  return [
    ...piecesOf(textPart("text", value, "fragments")).map(
      (stringValue): PartialArg => ({ jsonPath: path, stringValue, willContinue: true }),
    ),
    { jsonPath: path, stringValue: "" },
  ];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
