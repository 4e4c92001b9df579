import { type Fields, isObject } from "../field-checks.ts";
import { DIALECT, pick, pickObject, pickString, spelling } from "./fields.ts";
import { readProof, UNSIGNED, WRAPPED } from "./proof.ts";
import { modelTraits } from "./thinking.ts";

/**
 * Contents for Google without what another provider left in them: thoughts under a wrapped signature, which it would refuse
 * as forged. Where there were such, the calls of that provider lack the proof that a model may insist on, and say so. Null
 * when nothing was found. `raw` is the client's body.
 */
export function withoutForeignProof(raw: Buffer, contents: unknown, model: string): unknown[] | null {
  if (!raw.includes(WRAPPED) || !Array.isArray(contents)) return null;
  let found = false;
  const kept = contents.map((content: unknown) => {
    const parts = isObject(content) ? content["parts"] : null;
    if (!isObject(content) || !Array.isArray(parts) || !parts.some(isForeign)) return content;
    found = true;
    return { ...content, parts: signedCall(parts.flatMap(withoutProof), model) };
  });
  return found ? kept.filter((content) => !isObject(content) || !isEmpty(content["parts"])) : null;
}

function isForeign(part: unknown): boolean {
  const proof = isObject(part) ? pickString(part, "thoughtSignature") : undefined;
  return proof !== undefined && readProof(proof).signature.dialect !== DIALECT;
}

/** A thought goes with its proof; words and calls stay without it. */
function withoutProof(part: unknown): unknown[] {
  if (!isObject(part) || !isForeign(part)) return [part];
  if (part["thought"] === true) return [];
  const { [spelling(part, "thoughtSignature")]: _, ...rest } = part;
  return rest["text"] === "" ? [] : [rest];
}

/** Of the calls of one turn Google wants the first one proven. */
function signedCall(parts: unknown[], model: string): unknown[] {
  if (!modelTraits(model).wantsSignatures) return parts;
  const first = parts.findIndex((part) => isObject(part) && pickObject(part, "functionCall") !== undefined);
  const call = parts[first] as Fields | undefined;
  if (!call || pick(call, "thoughtSignature") !== undefined) return parts;
  return parts.with(first, { ...call, thoughtSignature: UNSIGNED });
}

function isEmpty(parts: unknown): boolean {
  return Array.isArray(parts) && parts.length === 0;
}
