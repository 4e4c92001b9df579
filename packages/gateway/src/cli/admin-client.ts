import { UsageError } from "./run-command.ts";

const ANSWER_MS = 60_000;

/** The admin API of a running gateway. */
export interface AdminClient {
  /** What a path answers; null: a 404. Throws UsageError for a query that is refused, Error for what else goes wrong. */
  get(path: string, query?: Record<string, string | number | undefined>): Promise<unknown>;
  /** Posts JSON; throws for a 404, too. */
  post(path: string, body: object): Promise<unknown>;
}

/** Throws UsageError for a URL that is none. */
export function adminClient(url: string, adminKey: string): AdminClient {
  const base = baseOf(url);
  const said = (answer: Exclude<Answer, { ok: true }>): Error => {
    if (answer.status === 400) return new UsageError(answer.message);
    const hint = answer.status === 401 ? " (SLUICEGATE_ADMIN_KEY)" : "";
    return new Error(`${base} answers ${answer.status}: ${answer.message}${hint}`);
  };
  return {
    async get(path, query = {}) {
      const target = new URL(`${base}${path}`);
      for (const [name, value] of Object.entries(query)) {
        if (value !== undefined) target.searchParams.set(name, String(value));
      }
      const answer = await ask(target, adminKey, base, null);
      if (answer.ok) return answer.body;
      if (answer.status === 404) return null;
      throw said(answer);
    },
    async post(path, body) {
      const answer = await ask(new URL(`${base}${path}`), adminKey, base, body);
      if (answer.ok) return answer.body;
      throw said(answer);
    },
  };
}

type Answer = { ok: true; body: unknown } | { ok: false; status: number; message: string };

async function ask(target: URL, adminKey: string, base: string, sent: object | null): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(target, {
      headers: {
        ...{ authorization: `Bearer ${adminKey}`, accept: "application/json" },
        ...(sent && { "content-type": "application/json" }),
      },
      ...(sent && { method: "POST", body: JSON.stringify(sent) }),
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
