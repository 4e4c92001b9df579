import type { Call } from "../core/call.ts";
import type { Bytes } from "../core/pieces.ts";
import { editBody } from "./call-members.ts";
import type { Edit } from "./json-members.ts";
import { PLATFORM_MEMBERS } from "./platform-fields.ts";
import type { Target } from "./protocol.ts";

/** The client's JSON for an upstream of the same protocol: the model spliced, the platform's members taken out, the rest as it came. */
export function passJson(call: Call, { model }: Target): Bytes {
  const edits = new Map<string, Edit>();
  const additions: string[] = [];
  // Azure's clients may name it in the path alone.
  if (Object.hasOwn(call.body, "model")) edits.set("model", { value: JSON.stringify(model) });
  else additions.push(`"model":${JSON.stringify(model)}`);
  for (const key of PLATFORM_MEMBERS) if (Object.hasOwn(call.body, key)) edits.set(key, null);
  return editBody(call, edits, additions);
}
