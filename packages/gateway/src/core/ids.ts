import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

const BASE32 = Buffer.from("0123456789abcdefghjkmnpqrstvwxyz");
const TIME_CHARS = 10;
/** Half of them: of so many characters a number is still a small integer, which is far cheaper to take apart. */
const HALF_CHARS = TIME_CHARS / 2;
const HALF = 32 ** HALF_CHARS;
const RANDOM_CHARS = 16;

/** A new id `<prefix>_` + 10 characters of time + 16 random ones; ids sort by the millisecond they were made in. */
export function newId(prefix: string, clock: Clock, random: Random): string {
  const chars = Buffer.allocUnsafe(TIME_CHARS + RANDOM_CHARS);
  const time = clock.now();
  let low = time % HALF;
  let high = (time - low) / HALF;
  for (let at = HALF_CHARS - 1; at >= 0; at--) {
    chars[at] = BASE32[high & 31] as number;
    chars[HALF_CHARS + at] = BASE32[low & 31] as number;
    high >>>= 5;
    low >>>= 5;
  }
  const bytes = random.bytes(RANDOM_CHARS);
  for (let i = 0; i < RANDOM_CHARS; i++) chars[TIME_CHARS + i] = BASE32[(bytes[i] as number) & 31] as number;
  return `${prefix}_${chars.toString("latin1")}`;
}
