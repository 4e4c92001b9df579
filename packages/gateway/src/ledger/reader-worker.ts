import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { GatewayError } from "../core/errors.ts";
import type { LedgerReader } from "./ledger.ts";
import { openLedgerReader } from "./reader.ts";
import type { ReaderAnswer, ReaderCall } from "./reader-messages.ts";

/** The reader's thread: answers one question after the other. */
function serve(reader: LedgerReader, port: MessagePort): void {
  port.on("message", ({ id, method, argument }: ReaderCall) => {
    const post = (answer: ReaderAnswer) => port.postMessage(answer);
    try {
      post({ id, value: (reader[method] as (argument: unknown) => unknown).call(reader, argument) });
    } catch (error) {
      const known = error instanceof GatewayError ? error : null;
      const message = error instanceof Error ? error.message : String(error);
      post({ id, error: { code: known?.code ?? null, message, details: known?.details ?? {} } });
    }
  });
}

if (parentPort) serve(openLedgerReader(String(workerData)), parentPort);
