/**
 * A provider's id as clients see it: `resp_` + token + `_` + the rest of the vendor's own, so that it finds its way back to
 * the deployment that made it (ruling 23) and still begins as clients expect. An id without the vendor's usual prefix goes
 * whole behind a dot.
 */
const DRESSED = /^([a-z]{1,16})_([0-9a-f]{12})([_.])(.+)$/s;
const PREFIXED = /^([a-z]{1,16})_(.+)$/s;

/** An id a client sent, taken apart. */
export interface OwnId {
  /** Whose it is. */
  token: string;
  /** As its provider knows it. */
  id: string;
}

/** `id` with its deployment's token in it; `kind` is the prefix for one that has none. An id that has a token keeps it. */
export function dressId(id: string, token: string, kind: string): string {
  if (id === "" || DRESSED.test(id)) return id;
  const [, prefix, rest] = PREFIXED.exec(id) ?? [];
  return prefix === undefined ? `${kind}_${token}.${id}` : `${prefix}_${token}_${rest}`;
}

/** The deployment's token and the provider's own id; null for an id that carries no token. */
export function undressId(id: string): OwnId | null {
  const [, prefix, token, mark, rest] = DRESSED.exec(id) ?? [];
  if (token === undefined || rest === undefined) return null;
  return { token, id: mark === "." ? rest : `${prefix}_${rest}` };
}

/** What the provider is to be told for `id`: without its token, where it has one. */
export function providerId(id: string): string {
  return undressId(id)?.id ?? id;
}

/** Ids of the gateway's own making (translated answers): no provider knows them. Vendors' are hexadecimal behind the prefix. */
const OWN = "sg";

/** How the id of a translated reasoning item begins. */
export const OWN_THOUGHT = `rs_${OWN}`;

/** An id for something in a translated answer: the same request gives the same, and it holds no second underscore. */
export function ownId(prefix: string, requestId: string, index?: number): string {
  const tail = requestId.slice(requestId.indexOf("_") + 1);
  return `${prefix}_${OWN}${tail}${index === undefined ? "" : `x${index}`}`;
}

/** True for an id of the gateway's own making. */
export function isOwnId(id: string): boolean {
  return /^[a-z]+_sg[0-9a-z]+$/.test(id);
}
