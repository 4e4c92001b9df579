import type { Call } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import type { Candidate, Decision, Removed } from "../routing/decision.ts";
import type { Gate } from "../routing/gates.ts";

/** Gates that look at who asks. */
const PERSONAL: readonly Gate[] = ["permission", "tenants"];
/** Gates that look at where data may be. */
const PLACES: readonly Gate[] = ["residency", "classification"];

/** What of a call the words depend on. */
export type Asking = Pick<Call, "alias" | "pinnedTo">;

/** What the client is told when nothing may serve it: which gate took which deployment, and what would help. */
export function refusalOf(
  call: Asking,
  { candidates, refused }: Pick<Decision, "candidates" | "refused">,
): GatewayError {
  const alias = JSON.stringify(call.alias);
  if (refused) {
    const message = `${refused.reason}: ask one that runs there`;
    return new GatewayError("residency_violation", message, { param: "gateway.residency" });
  }
  const removed = candidates.filter(isRemoved);
  const others = removed.filter(({ gate }) => !PERSONAL.includes(gate));
  if (others.length === 0) return denied(call, alias);
  if (others.every(({ gate }) => PLACES.includes(gate))) return misplaced(alias, removed, others);
  if (others.every(({ gate }) => gate === "pin")) {
    const message = `${alias} is a name behind which the vendor may put another model, and this gateway takes pinned names only`;
    return new GatewayError("model_not_allowed", message, { param: "model", reason: "floating_model" });
  }
  // Who was left for its window alone could have served a shorter request.
  const tooLong = others.flatMap(({ overflow }) => overflow ?? []);
  if (tooLong.length > 0) return overflowed(alias, tooLong, removed);
  const field = others.find((entry) => entry.fields)?.fields?.[0];
  const message = `no deployment behind ${alias} can serve this: ${reasonsOf(removed)}${wayOut(others)}`;
  return new GatewayError("unsupported_feature", message, { param: field ?? "model" });
}

function isRemoved(candidate: Candidate): candidate is Removed {
  return !candidate.kept;
}

function denied(call: Asking, alias: string): GatewayError {
  // Nobody else can resolve a provider's id, and whose it is instead is not told.
  if (call.pinnedTo !== null) {
    const message = `the ids in the request belong to no deployment behind ${alias} that this key may use`;
    return new GatewayError("invalid_request", message, { param: "previous_response_id" });
  }
  const message = `every deployment behind ${alias} is denied to this key`;
  return new GatewayError("model_not_allowed", message, { param: "model", reason: "denied" });
}

/** Where both gates took something, the place is named: it is the narrower of the two. */
function misplaced(alias: string, removed: readonly Removed[], others: readonly Removed[]): GatewayError {
  const byClass = others.every(({ gate }) => gate === "classification");
  const message = `no deployment behind ${alias} may have this request's data: ${reasonsOf(removed)}`;
  return byClass
    ? new GatewayError("classification_violation", message, { param: "gateway.classification" })
    : new GatewayError("residency_violation", message, { param: "gateway.residency" });
}

/** Where they know no code, clients of every dialect look for "maximum context length" or for "prompt is too long". */
function overflowed(
  alias: string,
  tooLong: readonly NonNullable<Removed["overflow"]>[],
  removed: readonly Removed[],
): GatewayError {
  const { inputTokensMin, outputTokens, window } = tooLong.reduce((a, b) => (b.window > a.window ? b : a));
  const asked = `at least ${inputTokensMin} tokens of input${outputTokens > 0 ? ` and ${outputTokens} of output` : ""}`;
  const message = `prompt is too long: the request, ${asked}, exceeds the maximum context length behind ${alias}, ${window} tokens: ${reasonsOf(removed)}`;
  return new GatewayError("context_length_exceeded", message, { limit: window, used: inputTokensMin + outputTokens });
}

/** What the client and the route's owner can do where only words are in the way. */
function wayOut(removed: readonly Removed[]): string {
  if (!removed.some((entry) => entry.gate === "expressibility")) return "";
  return "; leave that out, or set drop_unsupported on the route";
}

function reasonsOf(removed: readonly Removed[]): string {
  return removed.map((entry) => `${entry.deployment} (${entry.reason})`).join(", ");
}
