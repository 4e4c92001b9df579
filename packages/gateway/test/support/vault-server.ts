import { type SecretServer, startSecretServer } from "./secret-server.ts";

/** A local server that speaks Vault's API: KV v2, dynamic database credentials with leases, AppRole. */
export interface VaultServer extends SecretServer {
  /** Tokens it takes. */
  tokens: Set<string>;
  /** KV v2 secrets by path under `secret/`: what the newest version holds; null: deleted. */
  secrets: Map<string, Record<string, unknown> | null>;
  /** Leases that live, by id, and how many seconds a renewal gives (0: it is not renewed). */
  leases: Map<string, number>;
  /** Seconds for which the next dynamic credential is given. */
  leaseSeconds: number;
  renewals: number;
}

/** Starts one with the token `root`. */
export async function startVault(): Promise<VaultServer> {
  let given = 0;
  const state = {
    tokens: new Set(["root"]),
    secrets: new Map<string, Record<string, unknown> | null>(),
    leases: new Map<string, number>(),
    leaseSeconds: 600,
    renewals: 0,
  };
  const server = await startSecretServer(
    ({ method, path, headers, body }, reply) => {
      if (method === "POST" && path === "/v1/auth/approle/login") {
        const { role_id, secret_id } = JSON.parse(body) as Record<string, string>;
        if (role_id !== "role" || secret_id !== "secret") return reply(400, { errors: ["invalid role or secret ID"] });
        const token = `login-${++given}`;
        state.tokens.add(token);
        return reply(200, { auth: { client_token: token, lease_duration: 3600, renewable: true } });
      }
      if (!state.tokens.has(String(headers["x-vault-token"]))) return reply(403, { errors: ["permission denied"] });
      if (method === "PUT" && path === "/v1/sys/leases/renew") {
        const { lease_id } = JSON.parse(body) as { lease_id: string };
        const seconds = state.leases.get(lease_id) ?? 0;
        state.renewals++;
        if (seconds === 0) return reply(400, { errors: ["lease not found"] });
        return reply(200, { lease_id, lease_duration: seconds, renewable: true, data: null });
      }
      const kv = /^\/v1\/secret\/data\/(.+)$/.exec(path)?.[1];
      if (kv !== undefined) {
        const data = state.secrets.get(kv);
        if (data === undefined) return reply(404, { errors: [] });
        const metadata = { version: 1, deletion_time: data === null ? "2026-01-01T00:00:00Z" : "" };
        return reply(data === null ? 404 : 200, { lease_id: "", lease_duration: 0, data: { data, metadata } });
      }
      if (path === "/v1/database/creds/llm") {
        const lease_id = `database/creds/llm/${++given}`;
        state.leases.set(lease_id, state.leaseSeconds);
        const data = { username: `user-${given}`, password: `password-${given}` };
        return reply(200, { lease_id, lease_duration: state.leaseSeconds, renewable: true, data });
      }
      reply(404, { errors: [] });
    },
    { status: 403, body: { errors: ["permission denied"] } },
  );
  return Object.assign(state, server);
}
