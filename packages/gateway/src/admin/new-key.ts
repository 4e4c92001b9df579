import { hash } from "node:crypto";
import type { Random } from "../core/random.ts";

const BASE32 = "0123456789abcdefghjkmnpqrstvwxyz";
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_CHARS = 12;
/** 62^43 is the first power of 62 beyond 2^256. */
const SECRET_CHARS = 43;

/** A client key at the only moment it is whole: `key` is shown once, `hash` (sha256, lower-case hex) is kept. */
export interface NewKey {
  id: string;
  key: string;
  hash: string;
}

/** A new client key `sg_<id>_<secret>`: 12 lower-case characters of id, 256 random bits in letters and digits. */
export function newKey(random: Random): NewKey {
  const id = Array.from(random.bytes(ID_CHARS), (byte) => BASE32.charAt(byte & 31)).join("");
  const key = `sg_${id}_${base62(random.bytes(32))}`;
  return { id, key, hash: hash("sha256", key) };
}

function base62(bytes: Uint8Array): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  let text = "";
  for (let i = 0; i < SECRET_CHARS; i++) {
    text = BASE62.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}
