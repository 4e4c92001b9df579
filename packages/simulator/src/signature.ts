import { createHash } from "node:crypto";

const MARK = "sluicegate-simulator";

/** A signature over a text as a peer must hand it back: base64 that holds the simulator's own mark. */
export function sign(text: string): string {
  return Buffer.from(`${MARK}:${digest(text)}`).toString("base64");
}

/** Whether the simulator made this signature, for any text. */
export function isOwn(signature: unknown): boolean {
  return typeof signature === "string" && decoded(signature).startsWith(`${MARK}:`);
}

/** Whether the simulator made this signature for this very text. */
export function signs(signature: unknown, text: string): boolean {
  return typeof signature === "string" && decoded(signature) === `${MARK}:${digest(text)}`;
}

function decoded(signature: string): string {
  return Buffer.from(signature, "base64").toString("latin1");
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}
