import { randomBytes } from "node:crypto";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type Decompressor, decompressor } from "./decompress.ts";

interface Decoded {
  decoder: Decompressor;
  bytes: () => number;
  /** Resolves with the text at the end, rejects with the error. */
  done: Promise<string>;
}

function decoding(encoding: string, onData: (decoder: Decompressor) => void = () => {}): Decoded {
  const chunks: Buffer[] = [];
  let decoder: Decompressor | null = null;
  const done = new Promise<string>((resolve, reject) => {
    decoder = decompressor(encoding, {
      data(chunk) {
        chunks.push(chunk);
        if (decoder) onData(decoder);
      },
      end: () => resolve(Buffer.concat(chunks).toString()),
      error: (message) => reject(new Error(message)),
      drain: () => {},
    });
  });
  if (!decoder) throw new Error("nothing to decode");
  return { decoder, bytes: () => chunks.reduce((sum, chunk) => sum + chunk.length, 0), done };
}

const text = "data: grüße 👋\n\n".repeat(500);

describe("decompressor", () => {
  it.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    [" GZip ", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("decodes %j, fed byte by byte", async (encoding, encode) => {
    const { decoder, done } = decoding(encoding);
    for (const byte of encode(text)) decoder.write(Buffer.from([byte]));
    decoder.end();
    expect(await done).toBe(text);
  });

  it.each([undefined, "", " ", "identity", "Identity"])("has nothing to do for %j", (encoding) => {
    expect(decompressor(encoding, { data() {}, end() {}, error() {}, drain() {} })).toBeNull();
  });

  it.each(["zstd", "gzip, gzip", "constructor"])("throws for %j, naming it", (encoding) => {
    expect(() => decompressor(encoding, { data() {}, end() {}, error() {}, drain() {} })).toThrow(encoding);
  });

  it("says what is wrong with broken bytes, and with bytes that end too early", async () => {
    const broken = decoding("gzip");
    broken.decoder.write(Buffer.from("this is no gzip"));
    await expect(broken.done).rejects.toThrow(/header/);
    const short = decoding("gzip");
    short.decoder.write(gzipSync(randomBytes(10_000)).subarray(0, 5_000));
    short.decoder.end();
    await expect(short.done).rejects.toThrow(/end of file/);
  });

  it("stops at a pause, however much a small input would give, and goes on at a resume", async () => {
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024));
    let first: (() => void) | undefined;
    const started = new Promise<void>((resolve) => {
      first = resolve;
    });
    const { decoder, bytes, done } = decoding("gzip", (self) => {
      self.pause();
      first?.();
    });
    decoder.write(bomb);
    decoder.end();
    await started;
    // Everything that would come comes within a few turns of the loop, where nothing stops it.
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(bytes()).toBeLessThan(1024 * 1024);
    const pump = setInterval(() => decoder.resume(), 0);
    const whole = await done;
    clearInterval(pump);
    expect(whole.length).toBe(32 * 1024 * 1024);
  });

  it("tells when it is behind, and when it has caught up", async () => {
    let drained: (() => void) | undefined;
    const drain = new Promise<void>((resolve) => {
      drained = resolve;
    });
    const decoder = decompressor("gzip", { data() {}, end() {}, error() {}, drain: () => drained?.() });
    const input = gzipSync(randomBytes(256 * 1024));
    expect(decoder?.write(input)).toBe(false);
    await drain;
    decoder?.close();
  });

  it("says nothing after it was closed, and stands being used on", async () => {
    const told: string[] = [];
    const decoder = decompressor("gzip", {
      data: () => told.push("data"),
      end: () => told.push("end"),
      error: (message) => told.push(message),
      drain: () => told.push("drain"),
    });
    decoder?.write(gzipSync(text));
    decoder?.close();
    decoder?.write(Buffer.from("more"));
    decoder?.end();
    decoder?.close();
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual([]);
  });
});
