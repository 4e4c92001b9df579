import type { Signature } from "../../core/stream-part.ts";
import { isObject } from "../field-checks.ts";
import { NAME, type Wire } from "./wire.ts";

/** A stored answer's own number: it proves nothing, and no other account knows it. */
const NUMBER = "itemId";

/**
 * What a package says about a piece of its answer and wants to have back with it, as a signature; undefined where that is
 * nothing. It is kept by the provider's name, so that only the one it is of will read it.
 */
export function proofOf(metadata: unknown): Signature | undefined {
  if (!isObject(metadata)) return undefined;
  const proves = Object.values(metadata).some(
    (own) => isObject(own) && Object.entries(own).some(([key, value]) => key !== NUMBER && value !== null),
  );
  return proves ? { dialect: NAME, value: JSON.stringify(metadata) } : undefined;
}

/** `providerOptions` that give a proof back; undefined for one that is another dialect's, or none. */
export function provenBy(signature: Signature | undefined): Wire | undefined {
  if (signature?.dialect !== NAME) return undefined;
  try {
    const metadata: unknown = JSON.parse(signature.value);
    return isObject(metadata) ? metadata : undefined;
  } catch {
    return undefined;
  }
}
