import type { Signature } from "../core/stream-part.ts";

/** What a wrapped signature hangs on. */
export type SignedThing = "text" | "encrypted" | "call";

/** A signature of another maker, as it travels through a client. */
export interface Wrapped {
  signature: Signature;
  on: SignedThing;
}

const TAG = "sg1";
const FORM = /^sg1\.([a-z0-9-]+)\.(text|encrypted|call)\.(.+)$/s;

/** A signature for a client of dialect `client`: raw to its own maker's dialect, otherwise in a wrapper that says whose it is. */
export function wrapSignature(signature: Signature, on: SignedThing, client: string): string {
  if (signature.dialect === client) return signature.value;
  return `${TAG}.${signature.dialect}.${on}.${signature.value}`;
}

/** A signature a client sends back: out of its wrapper, or, without one, the client dialect's own. */
export function unwrapSignature(value: string, client: string, on: SignedThing = "text"): Wrapped {
  const [, dialect, thing, inner] = FORM.exec(value) ?? [];
  if (dialect === undefined || inner === undefined) return { signature: { dialect: client, value }, on };
  return { signature: { dialect, value: inner }, on: thing as SignedThing };
}
