import type { Call } from "../core/call.ts";
import { type Fields, isAbsent } from "./field-checks.ts";
import type { Edit } from "./json-members.ts";
import type { StrictBody } from "./protocol.ts";

/** Does this member ask for nothing? Then it goes without a word. */
type IsSilent = (key: string, value: unknown) => boolean;

/**
 * Holds a client's own bytes to what the upstream takes: renames, and takes out what it refuses, on top of `edits`. What was
 * taken out and asked for something is added to `dropped`.
 */
export function strictEdits(
  { body }: Call,
  { members, renames }: StrictBody,
  edits: Map<string, Edit>,
  dropped: Set<string>,
  isSilent: IsSilent = (_key, value) => isAbsent(value),
): void {
  for (const [key, value] of Object.entries(body)) {
    if (edits.has(key)) continue;
    const name = renames.get(key);
    // Its own word for it stands there, too: that one holds.
    if (name !== undefined && !Object.hasOwn(body, name)) edits.set(key, { rename: name });
    else if (!members.has(key)) {
      edits.set(key, null);
      if (name === undefined && !isSilent(key, value)) dropped.add(key);
    }
  }
}

/** The same for a body that was made here: a new one. */
export function strictFields(body: Fields, { members, renames }: StrictBody): Fields {
  const held = Object.entries(body).map(([key, value]): [string, unknown] => [renames.get(key) ?? key, value]);
  return Object.fromEntries(held.filter(([key]) => members.has(key)));
}
