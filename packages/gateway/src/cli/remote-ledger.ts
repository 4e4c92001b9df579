import type { Page, RequestRecord, SpendReport } from "@sluicegate/contract";
import type { LedgerReads } from "../admin/parts.ts";
import { UsageError } from "./run-command.ts";

const ANSWER_MS = 60_000;

/** The ledger of a running gateway, over its admin API. Throws UsageError for a URL or a query that is wrong. */
export function remoteLedger(url: string, adminKey: string): LedgerReads {
  const base = baseOf(url);
  const get = async (path: string, query: Record<string, string | number | undefined>): Promise<unknown> => {
    const target = new URL(`${base}${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) target.searchParams.set(name, String(value));
    }
    const answer = await ask(target, adminKey, base);
    if (answer.ok) return answer.body;
    if (answer.status === 400) throw new UsageError(answer.message);
    if (answer.status === 404 && path.startsWith("/admin/requests/")) return null;
    const hint = answer.status === 401 ? " (SLUICEGATE_ADMIN_KEY)" : "";
    throw new Error(`${base} answers ${answer.status}: ${answer.message}${hint}`);
  };
  return {
    requests: async (filter) => (await get("/admin/requests", { ...filter })) as Page<RequestRecord>,
    request: async (id) => (await get(`/admin/requests/${encodeURIComponent(id)}`, {})) as RequestRecord | null,
    spend: async ({ by, ...query }) => (await get("/admin/spend", { by: by.join(","), ...query })) as SpendReport,
    close: () => {},
  };
}

type Answer = { ok: true; body: unknown } | { ok: false; status: number; message: string };

async function ask(target: URL, adminKey: string, base: string): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(target, {
      headers: { authorization: `Bearer ${adminKey}`, accept: "application/json" },
      // The admin key goes to the host that was named, and to no other.
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_MS),
    });
  } catch (thrown) {
    throw new Error(`no gateway answers at ${base} (${reasonOf(thrown)})`);
  }
  const body: unknown = await response.json().catch(() => null);
  if (response.ok && body !== null) return { ok: true, body };
  const error = (body as { error?: { message?: unknown } } | null)?.error;
  const message = typeof error?.message === "string" ? error.message : "this is not the answer of a Sluicegate";
  return { ok: false, status: response.status, message };
}

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username !== "") {
    throw new UsageError(`--url ${url} is not the URL of a gateway, as in http://127.0.0.1:8080`);
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`;
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown.name === "TimeoutError") return `nothing came within ${ANSWER_MS / 1_000} s`;
  const cause = thrown.cause as { code?: unknown; message?: unknown } | undefined;
  return String(cause?.code ?? cause?.message ?? thrown.message);
}
