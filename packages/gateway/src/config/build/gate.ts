import { Secret } from "../../core/secret.ts";
import type { Problems } from "../problems.ts";
import type { GatewayInput } from "../schema/gateway.ts";
import type { EvaluationGate } from "../snapshot.ts";
import { nodeAt } from "../yaml/node.ts";
import { httpUrl } from "./base-url.ts";
import { type Entry, errorAtKey, errorIn } from "./entry.ts";

/** `gateway.gate`: a command or a webhook; null when it is neither, and that has been told. */
export function gateOf(
  entry: Entry<GatewayInput>,
  { command, webhook, timeout: timeoutMs }: NonNullable<GatewayInput["gate"]>,
  problems: Problems,
): EvaluationGate | null {
  if ((command === undefined) === (webhook === undefined)) {
    errorAtKey(entry, [], "gate", "a gate is either `command` or `webhook`", problems);
    return null;
  }
  if (command !== undefined) return { kind: "command", command, timeoutMs };
  if (webhook === undefined) return null;
  const read = httpUrl(webhook);
  if ("fault" in read) errorIn(entry, ["gate", "webhook"], `\`webhook\` ${read.fault}`, problems);
  const node = nodeAt(entry.node, ["gate", "webhook"]);
  const origin = node?.kind === "scalar" ? node.origin : null;
  return { kind: "webhook", url: new Secret(webhook, origin ?? "literal"), timeoutMs };
}
