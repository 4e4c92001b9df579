import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

const BASE32 = Buffer.from("0123456789abcdefghjkmnpqrstvwxyz");
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;

/** A new id `<prefix>_` + 10 characters of time + 16 random ones; ids sort by the millisecond they were made in. */
export function newId(prefix: string, clock: Clock, random: Random): string {
  const chars = Buffer.allocUnsafe(TIME_CHARS + RANDOM_CHARS);
  let time = clock.now();
  for (let at = TIME_CHARS - 1; at >= 0; at--) {
    chars[at] = BASE32[time % 32] as number;
    time = Math.floor(time / 32);
  }
  const bytes = random.bytes(RANDOM_CHARS);
  for (let i = 0; i < RANDOM_CHARS; i++) chars[TIME_CHARS + i] = BASE32[(bytes[i] as number) & 31] as number;
  return `${prefix}_${chars.toString("latin1")}`;
}
