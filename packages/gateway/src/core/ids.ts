import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

const BASE32 = "0123456789abcdefghjkmnpqrstvwxyz";

/** A new id `<prefix>_` + 10 characters of time + 16 random ones; ids sort by the millisecond they were made in. */
export function newId(prefix: string, clock: Clock, random: Random): string {
  let time = clock.now();
  let head = "";
  for (let i = 0; i < 10; i++) {
    head = BASE32.charAt(time % 32) + head;
    time = Math.floor(time / 32);
  }
  const bytes = random.bytes(16);
  let tail = "";
  for (const byte of bytes) tail += BASE32.charAt(byte & 31);
  return `${prefix}_${head}${tail}`;
}
