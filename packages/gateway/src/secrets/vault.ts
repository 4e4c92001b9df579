import { readFile } from "node:fs/promises";
import type { Clock } from "../core/clock.ts";
import { type Answer, ask, type Fetch, faultOf } from "./ask.ts";
import { SECRET_BOUNDS } from "./bounds.ts";
import { type Lease, type Reading, SecretFault, type SecretManager } from "./manager.ts";

/** Where Vault is and who asks: VAULT_ADDR and what goes with it. */
export interface VaultOptions {
  fetch: Fetch;
  clock: Clock;
  get(name: string): string | undefined;
}

const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";
const DEFAULT_ADDRESS = "https://127.0.0.1:8200";

/** A token that a login gave, and until when (monotonic ms) it is used. */
interface Login {
  token: string;
  until: number;
}

/**
 * HashiCorp Vault and OpenBao: `vault:secret/data/llm#anthropic` is the field `anthropic` of the KV v2 secret that
 * GET /v1/secret/data/llm gives; other engines' answers are taken as they are, with their leases. Who asks: VAULT_TOKEN,
 * else VAULT_ROLE_ID with VAULT_SECRET_ID (AppRole), else VAULT_KUBERNETES_ROLE (the pod's own account).
 */
export function vault({ fetch, clock, get }: VaultOptions): SecretManager {
  const address = (get("VAULT_ADDR") || DEFAULT_ADDRESS).replace(/\/+$/, "");
  const who = `vault at ${shownAddress(address)}`;
  const namespace = get("VAULT_NAMESPACE");
  let login: Promise<Login> | null = null;

  const send = (method: "GET" | "POST" | "PUT", path: string, token: string, body: unknown, signal: AbortSignal) =>
    ask(
      fetch,
      {
        ...{ who, method, url: `${address}/v1/${path}` },
        headers: {
          "x-vault-request": "true",
          ...(token !== "" && { "x-vault-token": token }),
          ...(namespace && { "x-vault-namespace": namespace }),
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
      signal,
    );

  const signIn = async (signal: AbortSignal): Promise<Login> => {
    const { path, body } = await credentialsOf(get);
    const answer = await send("POST", `auth/${path}/login`, "", body, signal);
    const auth = objectOf(answer.body?.auth);
    if (answer.status !== 200 || typeof auth?.client_token !== "string") {
      throw new SecretFault("denied", `${who} refuses the login of this gateway (${answer.status})`);
    }
    const seconds = Number(auth.lease_duration) || 0;
    const lastsMs = seconds > 0 ? (seconds * 1_000) / 2 : Number.POSITIVE_INFINITY;
    return { token: auth.client_token, until: clock.monotonic() + lastsMs };
  };

  const tokenOf = async (signal: AbortSignal): Promise<string> => {
    const fixed = get("VAULT_TOKEN");
    if (fixed) return fixed;
    const known = await login?.catch(() => null);
    if (known && clock.monotonic() < known.until) return known.token;
    const asked = signIn(signal);
    login = asked;
    try {
      return (await asked).token;
    } catch (thrown) {
      if (login === asked) login = null;
      throw thrown;
    }
  };

  /** A token that was revoked before its time is replaced once. */
  const authorised = async (
    method: "GET" | "PUT",
    path: string,
    body: unknown,
    signal: AbortSignal,
  ): Promise<Answer> => {
    const answer = await send(method, path, await tokenOf(signal), body, signal);
    if (answer.status !== 403 || get("VAULT_TOKEN")) return answer;
    login = null;
    return send(method, path, await tokenOf(signal), body, signal);
  };

  return {
    parse: parseVaultReference,
    async read(path, signal) {
      const answer = await authorised("GET", path, undefined, signal);
      if (answer.status !== 200) throw faultOf(who, `secret ${path}`, answer.status);
      return readingOf(answer.body, who, path);
    },
    async renew(lease, signal) {
      const asked = { lease_id: lease.id, increment: Math.ceil(lease.durationMs / 1_000) };
      const answer = await authorised("PUT", "sys/leases/renew", asked, signal);
      if (answer.status === 400) throw new SecretFault("missing", `${who} does not renew a lease any more`);
      if (answer.status !== 200) throw faultOf(who, "lease renewal", answer.status);
      const renewed = leaseOf(answer.body ?? {});
      if (!renewed) throw new SecretFault("broken", `${who} renewed a lease and did not say for how long`);
      return renewed;
    },
  };
}

function parseVaultReference(rest: string): { path: string; field: string } | { refused: string } {
  const [, path, field] = /^([^#?]+)#([^#]+)$/.exec(rest) ?? [];
  if (path === undefined || field === undefined) {
    return { refused: `\`vault:${rest}\` is not vault:path#field, as in vault:secret/data/llm#anthropic` };
  }
  const clean = path.replace(/^\/+/, "").replace(/^v1\//, "");
  const parts = clean.split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..") || rest.length > SECRET_BOUNDS.nameCharsMax) {
    return { refused: `\`${path}\` is not a path of vault's` };
  }
  return { path: parts.map(encodeURIComponent).join("/"), field };
}

function readingOf(body: Record<string, unknown> | null, who: string, path: string): Reading {
  const outer = objectOf(body?.data);
  if (!body || !outer) throw new SecretFault("broken", `${who} answered for ${path} what is no secret of its own`);
  const isVersioned = objectOf(outer.metadata) !== null && "data" in outer;
  const data = isVersioned ? objectOf(outer.data) : outer;
  if (!data) throw new SecretFault("missing", `${who} holds no living version of ${path}`);
  return { data, lease: leaseOf(body) };
}

function leaseOf(body: Record<string, unknown>): Lease | null {
  const { lease_id: id, lease_duration: seconds, renewable } = body;
  if (typeof id !== "string" || id === "" || typeof seconds !== "number" || seconds <= 0) return null;
  return { id, durationMs: seconds * 1_000, renewable: renewable === true };
}

async function credentialsOf(get: VaultOptions["get"]): Promise<{ path: string; body: Record<string, string> }> {
  const roleId = get("VAULT_ROLE_ID");
  const secretId = get("VAULT_SECRET_ID");
  if (roleId && secretId) return { path: "approle", body: { role_id: roleId, secret_id: secretId } };
  const role = get("VAULT_KUBERNETES_ROLE");
  if (!role) {
    throw new SecretFault(
      "denied",
      "nothing says who asks vault: set VAULT_TOKEN, VAULT_ROLE_ID with VAULT_SECRET_ID, or VAULT_KUBERNETES_ROLE",
    );
  }
  const file = get("VAULT_KUBERNETES_TOKEN_FILE") || SERVICE_ACCOUNT_TOKEN;
  try {
    return { path: "kubernetes", body: { role, jwt: (await readFile(file, "utf8")).trim() } };
  } catch {
    throw new SecretFault("denied", `the service account's token cannot be read from ${file}`);
  }
}

function shownAddress(address: string): string {
  try {
    return new URL(address).origin;
  } catch {
    return "VAULT_ADDR, which is not a URL";
  }
}

function objectOf(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}
