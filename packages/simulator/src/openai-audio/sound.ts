const SAMPLES_PER_SECOND = 24_000;
/** 5 ms for each delta, so that long texts stay small. */
const SAMPLES_PER_PIECE = 120;
const PIECES_MAX = 20_000;
const HEADER_BYTES = 44;
/** One silent frame of MPEG 1 layer III, 32 kbit/s at 44.1 kHz. */
const MP3_FRAME = Buffer.concat([Buffer.from([0xff, 0xfb, 0x10, 0xc4]), Buffer.alloc(100)]);
const SECONDS_PER_BYTE = 1 / 16_000;

/** A soft tone of 5 ms as 16-bit samples, 24 kHz, mono, little-endian. */
export function pcmPiece(): Buffer {
  const bytes = Buffer.alloc(SAMPLES_PER_PIECE * 2);
  for (let i = 0; i < SAMPLES_PER_PIECE; i++) {
    bytes.writeInt16LE(Math.round(1000 * Math.sin((2 * Math.PI * i) / SAMPLES_PER_PIECE)), i * 2);
  }
  return bytes;
}

/** A WAV file of so many pieces. What was said stands in a comment of it, where `wavText` finds it. */
export function wav(pieces: number, text: string): Buffer {
  const sound = pcm(pieces);
  const comment = infoChunk(text);
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(HEADER_BYTES - 8 + sound.length + comment.length, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  header.writeUInt32LE(SAMPLES_PER_SECOND * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(sound.length, 40);
  return Buffer.concat([header, sound, comment]);
}

/** The bare samples. */
export function pcm(pieces: number): Buffer {
  const piece = pcmPiece();
  return Buffer.concat(Array.from({ length: Math.min(pieces, PIECES_MAX) }, () => piece));
}

/** Silence as MP3 frames. */
export function mp3(pieces: number): Buffer {
  return Buffer.concat(Array.from({ length: Math.min(pieces, PIECES_MAX) }, () => MP3_FRAME));
}

/** What the simulator once said in a WAV file; null for any other file. */
export function wavText(file: Buffer): string | null {
  const at = chunkAt(file, "LIST");
  if (at === null || file.toString("latin1", at + 8, at + 16) !== "INFOICMT") return null;
  const size = file.readUInt32LE(at + 16);
  return file.toString("utf8", at + 20, at + 20 + size).replace(/\0+$/, "");
}

/** How long a sound lasts: exactly for WAV, else as if at 128 kbit/s. */
export function secondsOf(file: Buffer): number {
  const format = chunkAt(file, "fmt ");
  const data = chunkAt(file, "data");
  if (format === null || data === null) return file.length * SECONDS_PER_BYTE;
  const bytesPerSecond = file.readUInt32LE(format + 16);
  return bytesPerSecond === 0 ? 0 : file.readUInt32LE(data + 4) / bytesPerSecond;
}

function infoChunk(text: string): Buffer {
  const said = Buffer.from(`${text}\0`);
  const padded = Buffer.concat([said, Buffer.alloc(said.length % 2)]);
  const head = Buffer.alloc(20);
  head.write("LIST", 0, "latin1");
  head.writeUInt32LE(12 + padded.length, 4);
  head.write("INFOICMT", 8, "latin1");
  head.writeUInt32LE(said.length, 16);
  return Buffer.concat([head, padded]);
}

/** Where a chunk of a RIFF file begins; null where it has none, or where it is no RIFF file. */
function chunkAt(file: Buffer, name: string): number | null {
  if (file.toString("latin1", 0, 4) !== "RIFF") return null;
  for (let at = 12; at + 20 <= file.length; at += 8 + file.readUInt32LE(at + 4) + (file.readUInt32LE(at + 4) % 2)) {
    if (file.toString("latin1", at, at + 4) === name) return at;
  }
  return null;
}
