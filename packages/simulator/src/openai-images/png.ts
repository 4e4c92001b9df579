import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

const SIDE = 8;
const MAGIC = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A real PNG of 8 x 8 pixels in a colour that `text` decides. */
export function tinyPng(text: string): Buffer {
  const colour = createHash("sha256").update(text).digest().subarray(0, 3);
  const row = Buffer.concat([Buffer.from([0]), ...Array.from({ length: SIDE }, () => colour)]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIDE, 0);
  header.writeUInt32BE(SIDE, 4);
  // Eight bits of red, green and blue; the rest of the header stays 0.
  header.set([8, 2], 8);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: SIDE }, () => row)));
  return Buffer.concat([MAGIC, chunk("IHDR", header), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const out = Buffer.alloc(named.length + 8);
  out.writeUInt32BE(data.length, 0);
  named.copy(out, 4);
  out.writeUInt32BE(crc32(named), named.length + 4);
  return out;
}

/** The checksum of PNG; zlib.crc32 is missing from early Node 20. */
function crc32(data: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
