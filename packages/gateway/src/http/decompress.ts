import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

/** Decodes a compressed body piece by piece. */
export interface Decompressor {
  write(chunk: Buffer): void;
  end(): void;
  close(): void;
}

/**
 * A decoder for an upstream's `content-encoding`; null when there is nothing to decode. Throws for one that is not known.
 * Asked for `identity`, some upstreams compress all the same.
 */
export function decompressor(
  encoding: string | undefined,
  on: { data(chunk: Buffer): void; end(): void; error(message: string): void },
): Decompressor | null {
  if (!encoding || encoding === "identity") return null;
  const stream =
    encoding === "gzip" || encoding === "x-gzip"
      ? createGunzip()
      : encoding === "deflate"
        ? createInflate()
        : encoding === "br"
          ? createBrotliDecompress()
          : null;
  if (!stream) throw new Error(`content-encoding ${encoding.slice(0, 40)} is not known`);
  stream.on("data", (chunk: Buffer) => on.data(chunk));
  stream.on("end", () => on.end());
  stream.on("error", (error) => on.error(error.message));
  return {
    write: (chunk) => void stream.write(chunk),
    end: () => void stream.end(),
    close: () => void stream.destroy(),
  };
}
