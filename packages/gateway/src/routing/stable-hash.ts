import { hash } from "node:crypto";

const RANGE = 2 ** 32;

/**
 * A number in [0, 1) for a text: the same on every replica and after every restart, and spread evenly over all texts. The
 * first four bytes of its SHA-256, so that others can work it out too.
 */
export function unitOf(text: string): number {
  return Number.parseInt(hash("sha256", text, "hex").slice(0, 8), 16) / RANGE;
}

/** One more number in [0, 1) from a draw: different for each salt, as good as independent of the others. */
export function drawOf(draw: number, salt: number): number {
  // The finalizer of MurmurHash3, over the draw's bits and the salt.
  let bits = (Math.floor(draw * RANGE) ^ Math.imul(salt + 1, 0x9e3779b1)) >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / RANGE;
}
