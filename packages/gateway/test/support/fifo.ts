import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readSync } from "node:fs";

/** A pipe by name, open at both ends. */
export interface Fifo {
  /** The descriptor that is written to; its writes wait for the reader. */
  readonly writer: number;
  /** Takes what is there, at most so many bytes, and does not wait: empty when there is nothing, null when nobody writes any more. */
  read(bytesMax?: number): Buffer | null;
  /** Reads, turn by turn of the event loop, until `enough` says so of all that was read, or nobody writes any more. */
  readUntil(enough: (text: string) => boolean, bytesAtOnce?: number): Promise<string>;
  closeReader(): void;
  closeWriter(): void;
}

/** Makes one at a path that does not exist. */
export function openFifo(path: string): Fifo {
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  const read = (bytesMax = 65_536): Buffer | null => {
    const bytes = Buffer.alloc(bytesMax);
    try {
      const taken = readSync(reader, bytes);
      return taken === 0 ? null : bytes.subarray(0, taken);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return bytes.subarray(0, 0);
      throw error;
    }
  };
  return {
    writer,
    read,
    async readUntil(enough, bytesAtOnce) {
      const decoder = new TextDecoder();
      let text = "";
      for (;;) {
        const bytes = read(bytesAtOnce);
        text += decoder.decode(bytes ?? undefined, { stream: bytes !== null });
        if (bytes === null || enough(text)) return text;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    closeReader: () => closeSync(reader),
    closeWriter: () => closeSync(writer),
  };
}
