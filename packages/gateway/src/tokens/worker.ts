import { type MessagePort, parentPort } from "node:worker_threads";
import { countTokens, setMergeCacheSize } from "gpt-tokenizer/encoding/o200k_base";
import { TOKEN_LIMITS } from "./bounds.ts";
import { cutRuns } from "./cut-runs.ts";
import type { CountAnswer, CountCall } from "./messages.ts";

/** Names of special tokens in a text are text: `<|endoftext|>` is what somebody has written, and no end. */
const PLAIN = { disallowedSpecial: new Set<string>() };

/** The tokenizer's thread: counts one slice after the other. */
function serve(port: MessagePort): void {
  setMergeCacheSize(TOKEN_LIMITS.mergeCacheMax);
  port.on("message", ({ id, texts }: CountCall) => {
    const post = (answer: CountAnswer): void => port.postMessage(answer);
    try {
      let tokens = 0;
      for (const text of texts) for (const piece of cutRuns(text)) tokens += countTokens(piece, PLAIN);
      post({ id, tokens });
    } catch (error) {
      post({ id, error: String(error) });
    }
  });
}

if (parentPort) serve(parentPort);
