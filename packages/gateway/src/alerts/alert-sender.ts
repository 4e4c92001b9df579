import type { AlertTarget } from "../config/snapshot.ts";
import type { AlertKind } from "../core/alert-kinds.ts";
import type { Timer } from "../core/clock.ts";
import { clippedText } from "../core/own-text.ts";
import { type Alert, type AlertState, alertBody } from "./alert.ts";
import { ALERT_BOUNDS } from "./bounds.ts";
import { Delivery, type DeliveryParts } from "./delivery.ts";

/** An alert that holds. */
interface Standing {
  alert: Alert;
  /** When it was last sent, monotonic ms; null: another replica sent it. */
  sentAt: number | null;
  /** When it was last raised. */
  raisedAt: number;
  quiet: Timer | null;
}

interface Outlet {
  target: AlertTarget;
  delivery: Delivery;
}

/**
 * Sends alerts to webhooks: each once a period for its kind and subject while it holds, and once more when it is over.
 * What holds is kept over reloads. Nothing here throws or waits, and everything is bounded.
 */
export class AlertSender {
  readonly #parts: DeliveryParts;
  /** By kind and subject; the one that was raised first is the first. */
  readonly #standing = new Map<string, Standing>();
  /** By URL and format. */
  readonly #outlets = new Map<string, Outlet>();
  #made = 0;
  #closed = false;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  /** Messages that have not arrived yet. */
  get pending(): number {
    let pending = 0;
    for (const { delivery } of this.#outlets.values()) pending += delivery.pending;
    return pending;
  }

  /** Sends to these from now on. One that stays keeps what waits for it; what waits for the others is dropped. */
  follow(targets: readonly AlertTarget[]): void {
    if (this.#closed) return;
    const wanted = new Map(targets.map((target) => [JSON.stringify([target.url.reveal(), target.format]), target]));
    for (const [key, { delivery }] of this.#outlets) {
      if (wanted.has(key)) continue;
      delivery.close();
      this.#outlets.delete(key);
    }
    for (const [key, target] of wanted) {
      const known = this.#outlets.get(key);
      if (known) known.target = target;
      else this.#open(key, target);
    }
  }

  /** It holds: sent if it is new, or if its period has passed since it was. */
  raise(given: Alert): void {
    const standing = this.#remember(given);
    const { alert, sentAt } = standing;
    const now = this.#parts.clock.monotonic();
    if (sentAt !== null && now - sentAt < (alert.everyMs ?? ALERT_BOUNDS.everyMs)) return;
    standing.sentAt = now;
    this.#send(alert, "firing");
  }

  /** It holds, and another replica has told of it: only its end may be ours to tell. */
  note(alert: Alert): void {
    this.#remember(alert);
  }

  /** It is over: told, with `text` if there is more to say. Without effect when it does not hold. */
  resolve(kind: AlertKind, subject: string, text?: string): void {
    const alert = this.#forget(keyOf(kind, subject));
    if (alert) this.#send({ ...alert, text: text ?? `over: ${alert.text}` }, "resolved");
  }

  /** It is over, and another replica tells of that. */
  forget(kind: AlertKind, subject: string): void {
    this.#forget(keyOf(kind, subject));
  }

  /** What holds now. */
  alerts(): Alert[] {
    return [...this.#standing.values()].map(({ alert }) => alert);
  }

  /** Ends everything; what has not arrived never will. */
  close(): void {
    this.#closed = true;
    for (const key of [...this.#standing.keys()]) this.#forget(key);
    for (const { delivery } of this.#outlets.values()) delivery.close();
    this.#outlets.clear();
  }

  #open(key: string, target: AlertTarget): void {
    try {
      const delivery = new Delivery(this.#parts, target.url.reveal(), `alerts ${++this.#made}`);
      this.#outlets.set(key, { target, delivery });
    } catch {
      this.#parts.log.warn("a target of alerts is left out: its url is not one", { from: target.url.origin });
    }
  }

  #remember(given: Alert): Standing {
    const alert = { ...given, text: clippedText(given.text, ALERT_BOUNDS.textCharsMax) };
    const key = keyOf(alert.kind, alert.subject);
    const raisedAt = this.#parts.clock.monotonic();
    const known = this.#standing.get(key);
    if (known) return Object.assign(known, { alert, raisedAt });
    const fresh: Standing = { alert, raisedAt, sentAt: null, quiet: null };
    if (this.#closed) return fresh;
    const [oldest] = this.#standing.keys();
    if (this.#standing.size >= ALERT_BOUNDS.subjectsMax && oldest !== undefined) this.#forget(oldest);
    this.#standing.set(key, fresh);
    if (alert.quietMs !== undefined) this.#watch(key, fresh, alert.quietMs);
    return fresh;
  }

  /** One timer a subject, not one a raise: it looks again when it was raised in between. */
  #watch(key: string, standing: Standing, inMs: number): void {
    standing.quiet = this.#parts.clock.after(inMs, () => {
      const { quietMs, kind, subject, text } = standing.alert;
      if (quietMs === undefined) return;
      const leftMs = standing.raisedAt + quietMs - this.#parts.clock.monotonic();
      if (leftMs > 0) this.#watch(key, standing, leftMs);
      else this.resolve(kind, subject, `not seen any more: ${text}`);
    });
  }

  #forget(key: string): Alert | null {
    const standing = this.#standing.get(key);
    if (!standing) return null;
    standing.quiet?.cancel();
    this.#standing.delete(key);
    return standing.alert;
  }

  #send(alert: Alert, state: AlertState): void {
    const at = this.#parts.clock.now();
    for (const { target, delivery } of this.#outlets.values()) {
      if (target.kinds !== "*" && !target.kinds.includes(alert.kind)) continue;
      delivery.push(alertBody(target.format, alert, state, at));
    }
  }
}

function keyOf(kind: AlertKind, subject: string): string {
  return `${kind} ${subject}`;
}
