import type { Signature } from "../../core/stream-part.ts";
import { type SignedThing, unwrapSignature, type Wrapped, wrapSignature } from "../signature.ts";
import { DIALECT } from "./fields.ts";

/** Google's word for a call whose thoughts it never saw: a history that another provider began (WIRE B4). */
export const UNSIGNED = "skip_thought_signature_validator";
/** How base64 of a wrapper begins: it starts with `sg1.` */
export const WRAPPED = "c2cxL";

/**
 * A signature as `thoughtSignature`: Google's own as it is, another maker's in its wrapper. The field is of bytes, and SDKs
 * decode and encode it on its way, so that the wrapper has to be base64 too.
 */
export function proofOf(signature: Signature, on: SignedThing): string {
  if (signature.dialect === DIALECT) return signature.value;
  return Buffer.from(wrapSignature(signature, on, DIALECT)).toString("base64");
}

/** A `thoughtSignature` that came back, in either alphabet of base64. */
export function readProof(value: string, on: SignedThing = "text"): Wrapped {
  const inner = value.startsWith(WRAPPED) ? Buffer.from(value, "base64").toString("utf8") : value;
  return unwrapSignature(inner, DIALECT, on);
}
