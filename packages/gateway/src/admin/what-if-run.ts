import type { Page, RequestRecord } from "@sluicegate/contract";
import type { KeyEntry } from "../config/snapshot.ts";
import { LIMITS } from "../core/limits.ts";
import type { RequestFilter } from "../ledger/ledger.ts";
import type { Deciding } from "../stages/decide-again.ts";
import { ObservedLatencies } from "./observed-latency.ts";
import { type WhatIfReport, WhatIfTally } from "./what-if-report.ts";

const PAGE_ROWS = 1_000;

/** What is decided again, and with what. */
export interface WhatIf {
  runtime: Deciding;
  requests(filter: RequestFilter): Page<RequestRecord> | Promise<Page<RequestRecord>>;
  key(id: string): KeyEntry | null;
  /** ISO 8601; `to` exclusive. */
  from: string;
  to: string;
  tenant?: string | undefined;
}

/**
 * Takes recorded requests through another config, the newest first and at most `LIMITS.whatIfRowsMax` of them. They are read
 * twice: what deployments took has to be known before anything is decided by it.
 */
export async function runWhatIf(whatIf: WhatIf): Promise<WhatIfReport> {
  const { runtime, key, from, to } = whatIf;
  const latencies = new ObservedLatencies();
  await eachRequest(whatIf, (record) => latencies.add(record));
  const tally = new WhatIfTally({ runtime, key, latencies });
  const truncated = await eachRequest(whatIf, (record) => tally.add(record));
  return tally.report({ from, to, truncated });
}

/** Calls `use` for each request of a client's. True: there were more than are looked at. */
async function eachRequest(
  { requests, from, to, tenant }: WhatIf,
  use: (record: RequestRecord) => void,
): Promise<boolean> {
  let cursor: string | undefined;
  for (let read = 0; read < LIMITS.whatIfRowsMax; read += PAGE_ROWS) {
    const filter: RequestFilter = { limit: PAGE_ROWS, from, to };
    if (tenant !== undefined) filter.tenant = tenant;
    if (cursor !== undefined) filter.cursor = cursor;
    const page = await requests(filter);
    for (const record of page.data) if (record.purpose === "client" && record.status !== "running") use(record);
    cursor = page.next_cursor;
    if (cursor === undefined) return false;
  }
  return true;
}
