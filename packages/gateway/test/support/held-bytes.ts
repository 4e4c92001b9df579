import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** How much more of the heap is in use after `act`, by what somebody still holds. */
export function heldHeapBytes(act: () => void): number {
  return more("heapUsed", act);
}

/** The same of buffers' memory. */
export function heldBufferBytes(act: () => void): number {
  return more("arrayBuffers", act);
}

function more(kind: "heapUsed" | "arrayBuffers", act: () => void): number {
  const now = (): number => {
    // Buffers are freed beside the program; the second time waits for what the first has found.
    collectGarbage();
    collectGarbage();
    return process.memoryUsage()[kind];
  };
  const before = now();
  act();
  return now() - before;
}
