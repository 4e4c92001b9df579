import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

const BASE32 = Buffer.from("0123456789abcdefghjkmnpqrstvwxyz");
/** Half of the ten characters of time: of so many a number is still a small integer, which is far cheaper to take apart. */
const HALF = 32 ** 5;
const RANDOM_CHARS = 16;
const PREFIX_CHARS = 3;
const UNDERSCORE = 95;

/** A new id `<prefix>_` + 10 characters of time + 16 random ones; ids sort by the millisecond they were made in. */
export function newId(prefix: string, clock: Clock, random: Random): string {
  return idAt(prefix, clock.now(), random);
}

/** The same for a moment (epoch ms) that has just been looked at. */
export function idAt(prefix: string, atMs: number, random: Random): string {
  const low = atMs % HALF;
  const high = (atMs - low) / HALF;
  const b = random.bytes(RANDOM_CHARS);
  // All at once, with the three letters that most prefixes have: no buffer is made only to be read, and the text is one piece,
  // which whoever looks into it would have to make of two.
  const text = String.fromCharCode(
    prefix.charCodeAt(0),
    prefix.charCodeAt(1),
    prefix.charCodeAt(2),
    UNDERSCORE,
    letter(high >>> 20),
    letter(high >>> 15),
    letter(high >>> 10),
    letter(high >>> 5),
    letter(high),
    letter(low >>> 20),
    letter(low >>> 15),
    letter(low >>> 10),
    letter(low >>> 5),
    letter(low),
    letter(b[0]),
    letter(b[1]),
    letter(b[2]),
    letter(b[3]),
    letter(b[4]),
    letter(b[5]),
    letter(b[6]),
    letter(b[7]),
    letter(b[8]),
    letter(b[9]),
    letter(b[10]),
    letter(b[11]),
    letter(b[12]),
    letter(b[13]),
    letter(b[14]),
    letter(b[15]),
  );
  // Of a shorter or longer one the first letters are made again; NaN, which stands for a missing letter, goes with them.
  return prefix.length === PREFIX_CHARS ? text : `${prefix}${text.slice(PREFIX_CHARS)}`;
}

/** The letter of the lowest five bits. */
function letter(bits: number | undefined = 0): number {
  return BASE32[bits & 31] as number;
}
