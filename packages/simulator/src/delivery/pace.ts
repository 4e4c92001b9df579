import type { ServerResponse } from "node:http";
import type { Account } from "../records/account.ts";
import type { Delivery, Piece } from "./delivery.ts";
import { Sender } from "./sender.ts";

const FLUSH_CHARS = 64 * 1024;

/** Sends an answer as it asks to be sent. `closing` tells whether the simulator itself ends the connections. */
export function deliver(res: ServerResponse, delivery: Delivery, account: Account, closing: () => boolean): void {
  const body = instantBody(delivery);
  if (body === null) {
    // A failure here is the simulator's own (a bad scripted header, say): the peer sees a broken connection.
    paced(new Sender(res, delivery, account, closing), delivery).catch(() => res.destroy());
    return;
  }
  res.once("close", () => {
    if (!res.writableFinished) account.lost(!closing(), false);
  });
  res.writeHead(delivery.status, delivery.headers);
  res.end(body);
  account.answered(delivery.status);
  for (const piece of delivery.pieces) noteAtOnce(piece, account);
  if (delivery.whole) account.finished();
}

/** The body when it can go out in one write, which is the cheap way; null when it must be paced. */
function instantBody(delivery: Delivery): string | Uint8Array | null {
  const { pieces, ending, silent, headWaitMs, chunkBytes, gzip } = delivery;
  if (silent || ending !== "end" || headWaitMs > 0 || chunkBytes > 0 || gzip || !Array.isArray(pieces)) return null;
  let text = "";
  for (const { data, waitMs } of pieces) {
    if (waitMs > 0) return null;
    if (typeof data !== "string") return pieces.length === 1 ? data : null;
    text += data;
  }
  return text;
}

function noteAtOnce(piece: Piece, account: Account): void {
  if (piece.output !== undefined) account.generated(piece.output, piece.reasoning ?? 0);
  if (piece.reportsUsage === true) account.usageSent();
}

/**
 * Waits are counted from a fixed start, so that timers firing late do not add up. What is due together is
 * written together.
 */
async function paced(sender: Sender, delivery: Delivery): Promise<void> {
  let dueMs = performance.now() + delivery.headWaitMs;
  await sender.sleepUntil(dueMs, false);
  if (sender.gone) return;
  if (!delivery.silent) sender.head();
  for (const piece of delivery.silent ? [] : delivery.pieces) {
    dueMs += piece.waitMs;
    if (piece.waitMs > 0 && dueMs > performance.now()) {
      await sender.flush();
      await sender.sleepUntil(dueMs, true);
    }
    if (sender.gone) return;
    sender.add(piece);
    if (sender.pendingBytes >= FLUSH_CHARS) await sender.flush();
  }
  await sender.flush();
  await sender.finish(delivery.ending);
}
