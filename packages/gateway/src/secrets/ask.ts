import { SECRET_BOUNDS } from "./bounds.ts";
import { SecretFault } from "./manager.ts";

/** How HTTP is spoken; the platform's `fetch` unless a test has its own. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** One question to a manager. */
export interface Question {
  /** The manager, for messages: `vault at http://127.0.0.1:8200`. */
  who: string;
  url: string;
  method: "GET" | "POST" | "PUT";
  headers: Record<string, string>;
  body?: string;
}

/** Its answer, the body parsed where it is a JSON object. */
export interface Answer {
  status: number;
  body: Record<string, unknown> | null;
}

/** Asks. Throws SecretFault `unreachable` when nobody answers; what the answer means is the asker's to say. */
export async function ask(fetch: Fetch, question: Question, signal: AbortSignal): Promise<Answer> {
  const { who, url, method, headers, body } = question;
  try {
    // A token is for the address that was configured: no redirect carries it on.
    const init: RequestInit = { method, headers, redirect: "manual", signal, ...(body !== undefined && { body }) };
    const response = await fetch(url, init);
    return { status: response.status, body: objectIn(await boundedText(response, who)) };
  } catch (thrown) {
    if (thrown instanceof SecretFault) throw thrown;
    throw new SecretFault("unreachable", `${who} did not answer (${reasonOf(thrown, signal)})`);
  }
}

/** What a status other than 200 comes down to, where a manager has no words of its own for it. */
export function faultOf(who: string, what: string, status: number): SecretFault {
  if (status === 404) return new SecretFault("missing", `${who} has no ${what}`);
  if (status === 401 || status === 403) {
    return new SecretFault("denied", `${who} refuses ${what} to this gateway (${status})`);
  }
  const kind = status >= 500 || status === 429 ? "unreachable" : "broken";
  return new SecretFault(kind, `${who} answered ${status} for ${what}`);
}

async function boundedText(response: Response, who: string): Promise<string> {
  if (!response.body) return "";
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > SECRET_BOUNDS.answerBytesMax) {
      throw new SecretFault("broken", `${who} answered more than ${SECRET_BOUNDS.answerBytesMax} bytes`);
    }
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks).toString("utf8");
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** Codes only: a message of the platform's may quote a header. */
function reasonOf(thrown: unknown, signal: AbortSignal): string {
  if (signal.aborted) return `not within ${SECRET_BOUNDS.askMs} ms`;
  const { cause, code } = thrown as { cause?: { code?: unknown }; code?: unknown };
  const known = cause?.code ?? code;
  return typeof known === "string" ? known : "the connection failed";
}
