import { createHash } from "node:crypto";
import { HEADERS } from "@sluicegate/contract";
import type { Call } from "../core/call.ts";
import type { Timer } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { usdString } from "../core/money.ts";
import type { Exchange } from "../http/exchange.ts";
import { totalTimeoutMs } from "../resilience/timeouts.ts";
import type { Claim, ReplayRun } from "../state/state.ts";
import { idHeaders } from "./answer-headers.ts";
import type { Caller } from "./authenticate.ts";
import { LastingExchange, type Recording } from "./lasting-exchange.ts";
import { clientLeft } from "./pause.ts";
import type { DataPlane, Runtime } from "./plane.ts";
import type { Visit } from "./visit.ts";

/** How long an answer is kept (ruling 12), ms. */
const KEPT_MS = 600_000;
/** How long a claim outlives its process, and how often it is renewed, ms. */
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;

/** The right to make the one call of an Idempotency-Key. Closed once, however the request ends. */
export interface IdempotentRun {
  /** The client's side, which outlives the client. */
  exchange: Exchange;
  /** Keeps the answer for those who ask again, if it is one; failures are not remembered. */
  close(succeeded: boolean): void;
}

/** What asks. */
export interface Asking {
  visit: Visit;
  runtime: Runtime;
  caller: Caller;
  call: Call;
}

/**
 * A request with an Idempotency-Key (RES-10): the first one runs, to its end even when its client leaves; others with the same
 * body wait for its answer and get the same. Null: no key was sent. "replayed": the client has its answer.
 * Throws idempotency_conflict for another body, and the client's deadline while waiting.
 */
export async function replay(
  plane: DataPlane,
  exchange: Exchange,
  asking: Asking,
): Promise<IdempotentRun | "replayed" | null> {
  const given = idempotencyKey(exchange);
  if (given === null) return null;
  const key = sha256(`${asking.caller.key.id}\n${given}`);
  const bodyHash = sha256(`${exchange.path}\n${exchange.query}\n`, asking.call.raw);
  for (;;) {
    const claim = await plane.state.replays.claim(key, bodyHash, LEASE_MS);
    if (claim.state === "mine") return runOf(plane, exchange, claim.run);
    if (claim.bodyHash !== bodyHash) throw conflict();
    if (claim.state === "done") {
      sendAgain(exchange, asking.visit, decode(claim.answer));
      return "replayed";
    }
    await isFree(plane, exchange, key, asking);
  }
}

/** The key a request carries; null: none. Throws invalid_request for one that is too long. */
export function idempotencyKey(exchange: Pick<Exchange, "header">): string | null {
  const given = exchange.header(HEADERS.idempotencyKey)?.trim();
  if (!given) return null;
  if (given.length <= LIMITS.idempotencyKeyCharsMax) return given;
  const message = `the idempotency key is longer than ${LIMITS.idempotencyKeyCharsMax} characters`;
  throw new GatewayError("invalid_request", message, { param: HEADERS.idempotencyKey });
}

function runOf({ clock, ending }: DataPlane, client: Exchange, run: ReplayRun): IdempotentRun {
  const exchange = new LastingExchange(client, LIMITS.replayBytesMax, ending);
  let timer: Timer | null = null;
  const renew = (): void => {
    timer = clock.after(RENEW_MS, () => {
      run.renew(LEASE_MS);
      renew();
    });
  };
  renew();
  return {
    exchange,
    close(succeeded) {
      timer?.cancel();
      exchange.close();
      const recording = succeeded ? exchange.recording() : null;
      if (recording) run.complete(encode(recording), KEPT_MS);
      else run.forget();
    },
  };
}

/** Waits until nobody runs the key any more, as long as the request itself could have taken. */
async function isFree({ clock, state }: DataPlane, exchange: Exchange, key: string, asking: Asking): Promise<void> {
  const { visit, runtime, call } = asking;
  const settings = runtime.snapshot.routes.get(call.alias) ?? runtime.snapshot.rawRoute;
  const began = clock.monotonic();
  const until =
    visit.arrivedAt + Math.max(totalTimeoutMs(call, settings), call.stream ? settings.timeouts.streamMaxMs : 0);
  const came = await new Promise<"free" | "late" | "left">((resolve) => {
    const finish = (what: "free" | "late" | "left"): void => {
      timer.cancel();
      unwatch();
      forget();
      resolve(what);
    };
    let forget = (): void => {};
    let unwatch = (): void => {};
    const timer = clock.after(Math.max(0, until - began), () => finish("late"));
    unwatch = state.replays.watch(key, () => finish("free"));
    forget = exchange.cancel.onCancel(() => finish("left"));
  });
  visit.waitedMs += clock.monotonic() - began;
  if (came === "left") throw clientLeft();
  if (came === "late")
    throw new GatewayError("provider_timeout", "the first request with this idempotency key is still running", {
      shouldRetry: true,
    });
}

function sendAgain(exchange: Exchange, visit: Visit, { status, headers, body }: Recording): void {
  const own = new Set(idHeaders(visit).filter((_, i) => i % 2 === 0));
  const again: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name = "", value = ""] = headers.slice(i, i + 2);
    if (own.has(name.toLowerCase())) continue;
    // The call was paid for once: who adds up what answers cost does not count it again.
    again.push(name, name === HEADERS.costUsd ? usdString(0) : value);
  }
  exchange.respond(status, [...again, ...idHeaders(visit), HEADERS.idempotentReplayed, "true"], body);
}

function conflict(): GatewayError {
  const message = "this idempotency key was used for another request; send the same body, or another key";
  return new GatewayError("idempotency_conflict", message, { param: HEADERS.idempotencyKey });
}

/** Head as JSON, its length before it, then the body. */
function encode({ status, headers, body }: Recording): Buffer {
  const head = Buffer.from(JSON.stringify({ status, headers }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, body]);
}

function decode(answer: Extract<Claim, { state: "done" }>["answer"]): Recording {
  const end = 4 + answer.readUInt32BE(0);
  const { status, headers } = JSON.parse(answer.toString("utf8", 4, end)) as Omit<Recording, "body">;
  return { status, headers, body: answer.subarray(end) };
}

function sha256(...parts: (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}
