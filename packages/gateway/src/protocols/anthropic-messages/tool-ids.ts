import { hash } from "node:crypto";

const FORM = /^[a-zA-Z0-9_-]{1,128}$/;
const HASH_CHARS = 24;

/** A call's id in Anthropic's alphabet: itself, or the same stand-in for the same id at every call. */
export function wireToolId(id: string): string {
  return FORM.test(id) ? id : `toolu_${hash("sha256", id, "hex").slice(0, HASH_CHARS)}`;
}
