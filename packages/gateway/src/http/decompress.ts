import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

/** Decodes a compressed body piece by piece. After `close` nothing is told any more. */
export interface Decompressor {
  /** False: the decoder is behind, and says `drain` when it has caught up. */
  write(chunk: Buffer): boolean;
  end(): void;
  /** Stops decoding (back-pressure): a small input can be a large output. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** What a decompressor tells: data*, then one of end or error. */
export interface DecompressorEvents {
  data(chunk: Buffer): void;
  end(): void;
  error(message: string): void;
  drain(): void;
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * A decoder for an upstream's `content-encoding`; null when there is nothing to decode. Throws for one that is not known.
 * Asked for `identity`, some upstreams compress all the same.
 */
export function decompressor(encoding: string | undefined, on: DecompressorEvents): Decompressor | null {
  const name = encoding?.trim().toLowerCase();
  if (!name || name === "identity") return null;
  const make = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
  if (!make) throw new Error(`content-encoding ${name.slice(0, 40)} is not known`);
  const stream = make();
  stream.on("data", (chunk: Buffer) => on.data(chunk));
  stream.on("end", () => on.end());
  stream.on("error", (error) => on.error(error.message));
  stream.on("drain", () => on.drain());
  return {
    write: (chunk) => stream.destroyed || stream.write(chunk),
    end: () => void (stream.destroyed || stream.end()),
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    close: () => void stream.destroy(),
  };
}
