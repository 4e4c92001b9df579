import { writeSync } from "node:fs";

/** Room for text of this many characters is kept; UTF-8 takes three bytes for one at most. */
const ROOM_CHARS = 80 * 1024;
const BYTES_PER_CHAR_MAX = 3;
const NEWLINE = 10;

/**
 * Writes lines to a file at once, in order, through one buffer that is used again and again. What cannot be written, the disk
 * being full, is lost without a word: this is where words would go. A line of which only a part has found room stays alone.
 */
export function fileOutput(fd: number, write: typeof writeSync = writeSync): (text: string) => void {
  let room: Buffer | null = null;
  let torn = false;
  const bytesOf = (text: string): Buffer => {
    if (text.length > ROOM_CHARS) return Buffer.from(text);
    room ??= Buffer.allocUnsafeSlow(ROOM_CHARS * BYTES_PER_CHAR_MAX);
    return room.subarray(0, room.write(text));
  };
  return (text) => {
    const bytes = bytesOf(torn ? `\n${text}` : text);
    let done = 0;
    try {
      for (let taken = 1; taken > 0 && done < bytes.length; done += taken)
        taken = write(fd, bytes, done, bytes.length - done);
    } catch {
      // The disk is full, or the file is gone.
    }
    if (done > 0) torn = done < bytes.length && bytes[done - 1] !== NEWLINE;
  };
}
