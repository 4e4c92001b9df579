import type { AlertTarget } from "../config/snapshot.ts";
import type { AlertKind } from "../core/alert-kinds.ts";

/** Something people are to know of. */
export interface Alert {
  kind: AlertKind;
  /** What of its kind it is about: the two together are told once a period. */
  subject: string;
  /** One sentence, without a secret. */
  text: string;
  tenant?: string;
  alias?: string;
  deployment?: string;
  scope?: string;
  value?: number;
  threshold?: number;
  /** The period, ms; absent: an hour. */
  everyMs?: number;
  /** Over by itself once it has not been raised for so long, ms; absent: when it is resolved. */
  quietMs?: number;
}

/** Whether what an alert tells of holds, or is over. */
export type AlertState = "firing" | "resolved";

/** The body of an alert's POST, as a target wants it; `atMs` is epoch. */
export function alertBody(format: AlertTarget["format"], alert: Alert, state: AlertState, atMs: number): Buffer {
  const { kind, tenant, alias, deployment, scope, value, threshold, text } = alert;
  if (format === "slack") return json({ text: slackText(`${state} ${kind}: ${text}`) });
  const about = { tenant, alias, deployment, scope, value, threshold };
  // What is undefined is left out of JSON.
  return json({ kind, state, at: new Date(atMs).toISOString(), ...about, text });
}

/** Slack reads these three as markup: https://docs.slack.dev/messaging/formatting-message-text */
function slackText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
