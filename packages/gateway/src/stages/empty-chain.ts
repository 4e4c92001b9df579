import type { Call } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import type { Removed } from "./route.ts";

/** What the client is told when the gates left nothing of a chain: which gate took which deployment, and what would help. */
export function emptied(call: Call, removed: readonly Removed[]): GatewayError {
  const alias = JSON.stringify(call.alias);
  if (removed.every((entry) => entry.gate === "permission")) return denied(call, alias);
  const others = removed.filter((entry) => entry.gate !== "permission");
  if (others.every((entry) => entry.gate === "pin")) {
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

function denied(call: Call, alias: string): GatewayError {
  // Nobody else can resolve a provider's id, and whose it is instead is not told.
  if (call.pinnedTo !== null) {
    const message = `the ids in the request belong to no deployment behind ${alias} that this key may use`;
    return new GatewayError("invalid_request", message, { param: "previous_response_id" });
  }
  const message = `every deployment behind ${alias} is denied to this key`;
  return new GatewayError("model_not_allowed", message, { param: "model", reason: "denied" });
}

/** Clients of every dialect look for "maximum context length" where they know no code. */
function overflowed(
  alias: string,
  tooLong: readonly NonNullable<Removed["overflow"]>[],
  removed: readonly Removed[],
): GatewayError {
  const { inputTokensMin, outputTokens, window } = tooLong.reduce((a, b) => (b.window > a.window ? b : a));
  const asked = `at least ${inputTokensMin} tokens of input${outputTokens > 0 ? ` and ${outputTokens} of output` : ""}`;
  const message = `the request, ${asked}, exceeds the maximum context length behind ${alias}, ${window} tokens: ${reasonsOf(removed)}`;
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
