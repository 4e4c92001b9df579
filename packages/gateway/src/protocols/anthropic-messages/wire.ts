/** The protocol's name: what its signatures, opaque blocks and uploads are tagged with. */
export const NAME = "anthropic-messages";

/** Where the arguments of calls stand in a request. */
export const INPUTS = ["messages", "*", "content", "*", "input"] as const;

/** A JSON object on its way out. */
export type Wire = Record<string, unknown>;

/** Begins everything that a gateway has put where Anthropic alone can vouch for the content (see `protocols/signature.ts`). */
export const FOREIGN_MARK = "sg1.";

/**
 * Stands where this dialect wants a signature and the maker of the thoughts gave none. Never sent to Anthropic, which
 * checks signatures.
 */
export const UNSIGNED = "sg1.none.text.0";

/** Stands where this dialect wants Anthropic's own proof of a web citation, and another provider cited. */
export const UNPROVEN = "sg1.none.citation.0";

/** One server-sent event: `fields` is what follows `"type"` in its JSON, from the comma on. */
export function sseEvent(type: string, fields = ""): string {
  return `event: ${type}\ndata: {"type":"${type}"${fields}}\n\n`;
}
