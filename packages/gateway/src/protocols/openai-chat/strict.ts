import type { Call } from "../../core/call.ts";
import { entryOf, type Fields, isObject } from "../field-checks.ts";
import type { Edit } from "../json-members.ts";
import type { StrictBody } from "../protocol.ts";
import { strictEdits, strictFields } from "../strict-body.ts";
import { asksNothing, FIELD_NAMES } from "./canonical.ts";
import { strictMessages } from "./strict-messages.ts";
import { strictTools } from "./strict-tools.ts";

/**
 * Can the client's own bytes be mended for a strict server? Not what its answer would have to be turned back from: free-text
 * tools, the older functions, and a choice among some of the tools.
 */
export function splices({ body }: Call): boolean {
  const { tools, tool_choice: choice, functions, function_call: called } = body;
  if (functions !== undefined || called !== undefined) return false;
  if (isObject(choice) && choice["type"] !== "function") return false;
  return !Array.isArray(tools) || tools.every((tool) => isObject(tool) && isObject(tool["function"]));
}

/** Edits that hold a client's chat bytes to what a strict server takes, on top of `edits`. What goes lost is told in the client's words. */
export function strictSplice(call: Call, strict: StrictBody, edits: Map<string, Edit>, dropped: Set<string>): void {
  const lost = new Set<string>();
  strictEdits(call, strict, edits, dropped, asksNothing);
  const { messages, tools } = call.body;
  const said = strict.messages && Array.isArray(messages) ? strictMessages(messages, strict.messages, lost) : null;
  if (said) edits.set("messages", { value: JSON.stringify(said) });
  const offered = Array.isArray(tools) ? strictTools(tools, lost) : null;
  if (offered) edits.set("tools", { value: JSON.stringify(offered) });
  for (const field of lost) dropped.add(entryOf(FIELD_NAMES, field) ?? field);
}

/** The same for a body that was made here. `dropped` is told in canonical names. */
export function strictChat(body: Fields, strict: StrictBody, dropped: Set<string>): Fields {
  const { messages, tools } = body;
  const said = strict.messages && Array.isArray(messages) ? strictMessages(messages, strict.messages, dropped) : null;
  const offered = Array.isArray(tools) ? strictTools(tools, dropped) : null;
  return strictFields({ ...body, ...(said && { messages: said }), ...(offered && { tools: offered }) }, strict);
}
