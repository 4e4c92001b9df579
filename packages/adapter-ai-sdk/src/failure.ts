/**
 * What an error of a provider package is. `http`: the provider's own answer, or the status that stands for what the package
 * said itself. `connect`: nothing was sent. `reset`: the provider may have done the work. `protocol`: its answer is none.
 */
export type Failure =
  | { kind: "http"; status: number; headers: Record<string, string>; body: string }
  | { kind: "connect" | "reset" | "protocol"; message: string };

/** Statuses for the errors a package throws before it asks anybody, by name. */
const STATUSES: Readonly<Record<string, number>> = {
  AI_LoadAPIKeyError: 401,
  AI_LoadSettingError: 401,
  AI_NoSuchModelError: 404,
  AI_InvalidArgumentError: 400,
  AI_InvalidPromptError: 400,
  AI_UnsupportedFunctionalityError: 400,
  AI_TooManyEmbeddingValuesForCallError: 400,
};
const UNSENT = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;
const CAUSES_MAX = 8;

/** Judges an error that a model's call threw. Read by shape: every package may bring an SDK of its own. */
export function failureOf(error: unknown): Failure {
  const from = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
  const { name, statusCode, responseBody, responseHeaders } = from;
  const message = error instanceof Error ? error.message : String(error);
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 600) {
    const headers = typeof responseHeaders === "object" ? { ...(responseHeaders as Record<string, string>) } : {};
    const said = typeof responseBody === "string" && responseBody !== "" ? responseBody : bodyOf(message, name);
    return { kind: "http", status: statusCode, headers, body: said };
  }
  const status = STATUSES[String(name)];
  if (status !== undefined) return { kind: "http", status, headers: {}, body: bodyOf(message, name) };
  if (isUnsent(error)) return { kind: "connect", message };
  const broken = (name === "AI_APICallError" && statusCode === undefined) || error instanceof TypeError;
  return { kind: broken ? "reset" : "protocol", message };
}

function bodyOf(message: string, name: unknown): string {
  return JSON.stringify({ error: { message, type: String(name) } });
}

function isUnsent(error: unknown): boolean {
  let from: unknown = error;
  for (let i = 0; i < CAUSES_MAX && typeof from === "object" && from !== null; i++) {
    const { code, cause } = from as { code?: unknown; cause?: unknown };
    if (typeof code === "string" && UNSENT.test(code)) return true;
    from = cause;
  }
  return false;
}
