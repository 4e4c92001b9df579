const POLYNOMIAL = 0xedb88320;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value >>> 0;
});
const STRING = 7;

/**
 * One frame of an AWS event stream: total length, headers' length, the checksum of both, headers, payload, the checksum of it
 * all; numbers are big-endian, checksums CRC-32.
 */
export function eventFrame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const body = Buffer.from(payload);
  const bytes = Buffer.alloc(16 + head.length + body.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(head.length, 4);
  bytes.writeUInt32BE(checksum(bytes.subarray(0, 8)), 8);
  head.copy(bytes, 12);
  body.copy(bytes, 12 + head.length);
  bytes.writeUInt32BE(checksum(bytes.subarray(0, -4)), bytes.length - 4);
  return bytes;
}

function header(name: string, value: string): Buffer {
  const [key, text] = [Buffer.from(name), Buffer.from(value)];
  const size = Buffer.alloc(2);
  size.writeUInt16BE(text.length);
  return Buffer.concat([Buffer.from([key.length]), key, Buffer.from([STRING]), size, text]);
}

function checksum(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = (sum >>> 8) ^ (TABLE[(sum ^ byte) & 0xff] ?? 0);
  return (sum ^ 0xffffffff) >>> 0;
}
