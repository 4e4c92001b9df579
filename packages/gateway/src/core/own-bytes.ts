/**
 * The same bytes in memory of their own, for what is kept. A small buffer is a piece of a pool that is eight kilobytes large,
 * and keeps all of it.
 */
export function ownBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.byteLength);
  bytes.copy(own);
  return own;
}
