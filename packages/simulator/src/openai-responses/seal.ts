import { createHmac } from "node:crypto";

const OPENING = "gAAAAABs";
const MARK_CHARS = 22;

/** Seals a text so that only simulators of the account open it again. It hides nothing: it only must not be made up. */
export function seal(account: string, text: string): string {
  return `${OPENING}${markOf(account, text)}${Buffer.from(text).toString("base64url")}`;
}

/** The text that was sealed; null when this account did not seal it. */
export function unseal(account: string, sealed: string): string | null {
  if (!sealed.startsWith(OPENING)) return null;
  const mark = sealed.slice(OPENING.length, OPENING.length + MARK_CHARS);
  const text = Buffer.from(sealed.slice(OPENING.length + MARK_CHARS), "base64url").toString();
  return markOf(account, text) === mark ? text : null;
}

function markOf(account: string, text: string): string {
  return createHmac("sha256", account).update(text).digest("base64url").slice(0, MARK_CHARS);
}
