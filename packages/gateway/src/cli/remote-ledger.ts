import type { Page, RequestRecord, SpendReport } from "@sluicegate/contract";
import type { LedgerReads } from "../admin/parts.ts";
import { adminClient } from "./admin-client.ts";

/** The ledger of a running gateway, over its admin API. Throws UsageError for a URL or a query that is wrong. */
export function remoteLedger(url: string, adminKey: string): LedgerReads {
  const client = adminClient(url, adminKey);
  const get = async (path: string, query: Record<string, string | number | undefined>): Promise<unknown> => {
    const body = await client.get(path, query);
    if (body === null) throw new Error(`there is no ${path} at ${url}: this is not the answer of a Sluicegate`);
    return body;
  };
  return {
    requests: async (filter) => (await get("/admin/requests", { ...filter })) as Page<RequestRecord>,
    request: async (id) => recordIn(await client.get(`/admin/requests/${encodeURIComponent(id)}`)),
    spend: async ({ by, ...query }) => (await get("/admin/spend", { by: by.join(","), ...query })) as SpendReport,
    close: () => {},
  };
}

/** A row as the ledger has it. The decision, which the gateway takes anew, is what `explain --request` shows. */
function recordIn(body: unknown): RequestRecord | null {
  if (body === null) return null;
  const { decision: _, ...record } = body as RequestRecord & { decision?: unknown };
  return record;
}
