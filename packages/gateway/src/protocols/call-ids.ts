import { createHash } from "node:crypto";

/**
 * An id for a tool call that came without one: the same for the same place, so that a conversation sent again has the same
 * ids. `place` has to tell this call from every other of the conversation.
 */
export function madeCallId(...place: readonly (string | number)[]): string {
  return `call_${createHash("sha256").update(place.join("\0")).digest("hex").slice(0, 24)}`;
}
