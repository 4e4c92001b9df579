import type { AttemptRow, Usage } from "@sluicegate/contract";
import type { Price } from "../../src/core/money.ts";
import type { InvoiceLine } from "../upstream/invoice.ts";
import type { Remains } from "../world/run.ts";
import { type Case, nameOf } from "./cases.ts";

/** What the books say of a call is what the provider bills for it, where it told; else an estimate that says it is one. */
export function checkMoney(one: Case, { plan, findings }: Remains): void {
  const name = nameOf(one);
  for (const { row, call } of one.attempts) {
    const price = plan.snapshot.deployments.get(row.deployment)?.prices[0]?.price;
    if (!price) continue;
    const wrong = (what: string): void =>
      findings.add(
        "money: as billed",
        `${name}, attempt ${row.n} at ${row.deployment} (${call?.act ?? "not sent"}): ${what}`,
      );
    if (row.cost_micro_usd !== costBy(row.usage, price)) wrong(`${row.cost_micro_usd} is not the price of its usage`);
    if (!call || call.sentMs === null) {
      if (row.cost_micro_usd !== 0 || row.usage.input_tokens !== 0) wrong("what was never sent costs something");
      continue;
    }
    checkCall(row, call, wrong);
  }
}

function checkCall(row: AttemptRow, call: InvoiceLine, wrong: (what: string) => void): void {
  const { usage } = row;
  if (row.status === "ok") {
    if (call.reported) {
      if (row.cost_state !== "known") wrong(`usage was told, and its cost is ${row.cost_state}`);
      if (!isSame(usage, call.reported)) wrong(`${words(usage)} where ${words(call.reported)} was told`);
      if (call.complete && call.end === "ended" && !isSame(usage, call.billed))
        wrong(`${words(usage)} where ${words(call.billed)} is billed`);
    } else if (row.cost_state !== "estimated" || usage.input_tokens === 0)
      wrong("no usage was told, and it is no estimate");
    return;
  }
  const reported = call.reported;
  const said = call.saidBroken || (call.end === "ended" && call.headMs !== null && (call.free || isNoAnswer(call)));
  if (said && !reported) {
    const brokenOff = row.error_class === "timeout" || row.error_class === "cancelled" || call.text !== "";
    if (!brokenOff && row.cost_micro_usd !== 0) wrong("a refusal costs something");
    return;
  }
  if (row.cost_state === "known" && !(reported && isSame(usage, reported)) && !said)
    wrong("it was broken off, and its cost is said to be known");
  if (reported) {
    if (usage.input_tokens !== reported.input_tokens)
      wrong(`input ${usage.input_tokens}, ${reported.input_tokens} was told`);
    // A token of output has at least one character: what was estimated behind the report is no more than what came.
    if (usage.output_tokens > reported.output_tokens + call.text.length)
      wrong(`output ${usage.output_tokens} is more than came`);
    return;
  }
  if (usage.input_tokens === 0) wrong("it was sent and broken off, and nothing is estimated for it");
  if (usage.output_tokens > call.text.length) wrong(`output ${usage.output_tokens} is more than came`);
}

/** Half a body that ends well: without a report of what was used, it costs nothing (ruling 10). */
function isNoAnswer({ act, stream }: InvoiceLine): boolean {
  return !stream && (act === "garbage" || act === "eof");
}

/** The same sum as the product's, in other words: exact, and rounded half up once. */
function costBy(usage: Usage, price: Price): number {
  const cached = BigInt(usage.cached_input_tokens);
  const written = BigInt(usage.cache_write_tokens);
  const plain = BigInt(usage.input_tokens) - cached - written;
  const nano =
    plain * BigInt(price.input) +
    cached * BigInt(price.cachedInput) +
    written * BigInt(price.cacheWrite) +
    BigInt(usage.output_tokens) * BigInt(price.output);
  return Number((nano + 500_000_000n) / 1_000_000_000n);
}

function isSame(a: Usage, b: Usage): boolean {
  return (
    a.input_tokens === b.input_tokens &&
    a.output_tokens === b.output_tokens &&
    a.cached_input_tokens === b.cached_input_tokens
  );
}

function words({ input_tokens: input, cached_input_tokens: cached, output_tokens: output }: Usage): string {
  return `${input}/${cached} in, ${output} out`;
}
