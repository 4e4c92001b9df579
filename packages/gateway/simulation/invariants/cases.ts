import type { AttemptRow } from "@sluicegate/contract";
import type { Route } from "../../src/config/snapshot.ts";
import type { ClientSpec } from "../client/spec.ts";
import type { ClientVisit } from "../client/visit.ts";
import type { Booked } from "../replica/ledger.ts";
import type { InvoiceLine } from "../upstream/invoice.ts";
import type { Remains } from "../world/run.ts";

/** One client request from all sides: the client's, the providers', the books'. */
export interface Case {
  spec: ClientSpec;
  visit: ClientVisit;
  route: Route;
  /** Calls that it caused, in their order. */
  calls: readonly InvoiceLine[];
  booked: Booked | null;
  /** Its attempts with the calls that they were; null: nothing was sent. */
  attempts: readonly { row: AttemptRow; call: InvoiceLine | null }[];
}

/** Puts together what belongs together. */
export function tieUp({ plan, clients, upstreams, books, findings }: Remains): Case[] {
  const byMark = new Map<string, Booked>();
  for (const booked of books.rows.values()) {
    const mark = booked.row.client_request_id ?? "";
    if (byMark.has(mark)) findings.add("ledger: one row a request", mark);
    byMark.set(mark, booked);
  }
  const cases: Case[] = [];
  for (const { spec, visits } of clients) {
    const route = plan.snapshot.routes.get(spec.alias);
    if (!route) continue;
    for (const visit of visits) {
      const { mark } = visit;
      // Whose of several the calls of a shared key were, their rows know: they are looked at together.
      const calls = spec.sharedMark === null ? upstreams.invoice.of(mark) : [];
      const booked = byMark.get(mark) ?? null;
      byMark.delete(mark);
      const attempts = booked && booked.row.status !== "abandoned" ? paired(booked.attempts, calls) : [];
      const seen = attempts.filter(({ call }) => call !== null).length;
      if (spec.sharedMark === null && booked && booked.row.status !== "abandoned" && seen !== calls.length)
        findings.add(
          "ledger: one attempt a call",
          `${mark}: ${calls.length} calls, ${booked.attempts.length} attempts`,
        );
      cases.push({ spec, visit, route, calls, booked, attempts });
    }
  }
  for (const mark of byMark.keys()) findings.add("ledger: no rows of nobody", mark);
  return cases;
}

/** Attempts and calls both in their order; an attempt that was called off at once has made none. */
function paired(rows: readonly AttemptRow[], calls: readonly InvoiceLine[]): Case["attempts"] {
  const left = [...calls];
  return rows.map((row) => {
    const [next] = left;
    const isIt = next && next.deployment === row.deployment && !(row.latency_ms === 0 && isLater(row, next));
    return { row, call: isIt ? (left.shift() ?? null) : null };
  });
}

/** A named call has the name that its provider gave it. */
function isLater({ provider_request_id: id }: AttemptRow, { id: given, headMs }: InvoiceLine): boolean {
  return id === null && headMs !== null && given !== id;
}

/** How a request is called in a finding. */
export function nameOf({ visit, booked }: Case): string {
  return `${visit.mark}${booked ? ` (${booked.row.status}${booked.row.error_code ? ` ${booked.row.error_code}` : ""})` : ""}`;
}
