import { noUsage, type Usage } from "@sluicegate/contract";
import type { Remains } from "../world/run.ts";
import { type Case, nameOf } from "./cases.ts";

/** Every admitted request is in the books once, with sums that are its attempts'. */
export function checkLedger({ books, findings, fleet }: Remains, cases: readonly Case[]): void {
  for (const one of cases) {
    const { booked, calls, visit } = one;
    const name = nameOf(one);
    if (!booked) {
      if (calls.length > 0) findings.add("ledger: every admitted request", `${name} made ${calls.length} calls`);
      continue;
    }
    const { row, attempts } = booked;
    if (row.status === "running") findings.add("ledger: settled once", `${name} is still running`);
    if (row.status === "abandoned" && !diedUnder(fleet, one))
      findings.add("ledger: abandoned after a crash only", `${name} ended ${visit.end}`);
    const cost = attempts.reduce((sum, attempt) => sum + attempt.cost_micro_usd, 0);
    if (cost !== row.cost_micro_usd)
      findings.add("money: a request costs its attempts", `${name}: ${row.cost_micro_usd} and ${cost}`);
    const usage = noUsage();
    for (const attempt of attempts)
      for (const field in usage) usage[field as keyof Usage] += attempt.usage[field as keyof Usage];
    if (JSON.stringify(usage) !== JSON.stringify({ ...noUsage(), ...row.usage }))
      findings.add("money: a request used what its attempts did", name);
  }
  checkRefusals({ books, findings, fleet }, cases);
}

/** Its replica was killed while it ran, or in the very tick in which it ended: nothing of that tick was written yet. */
function diedUnder({ all }: Remains["fleet"], { visit }: Case): boolean {
  return all.some(({ name, killedMs }) => name === visit.replica && killedMs !== null && killedMs >= visit.startedMs);
}

/** Refusals are counted to the last one: rows of their own, or one row for several. */
function checkRefusals(
  { books, findings, fleet }: Pick<Remains, "books" | "findings" | "fleet">,
  cases: readonly Case[],
): void {
  const told = books.recorded.reduce((sum, { repeated }) => sum + repeated, 0);
  const refused = cases.filter(({ booked }) => !booked);
  // A replica that dies takes with it what it had counted, and not written.
  const uncertain = refused.filter((one) => diedUnder(fleet, one)).length;
  const missing = refused.length - told;
  if (missing < 0 || missing > uncertain)
    findings.add(
      "ledger: refusals are counted",
      `${told} rows for ${refused.length} refusals, of which ${uncertain} may be lost`,
    );
}
