import { hash } from "node:crypto";
import type { AdminKey } from "../config/snapshot.ts";
import type { Clock } from "../core/clock.ts";
import type { Random } from "../core/random.ts";
import type { Principal } from "./auth.ts";

const SESSION_MS = 12 * 3_600_000;
const SESSIONS_MAX = 1_000;

/** How long a browser stays signed in, seconds. */
export const SESSION_SECONDS = SESSION_MS / 1_000;

/** Who is signed in to the console, in memory: a restart signs everybody out. */
export interface Sessions {
  /** The id of a new session: what the cookie holds. */
  open(principal: Principal): string;
  /** Who has this session; null when it has ended, or when its admin key has been taken away. */
  find(id: string, keys: readonly AdminKey[]): Principal | null;
  end(id: string): void;
}

/** An empty store; only hashes of ids are kept. */
export function createSessions(clock: Clock, random: Random): Sessions {
  const sessions = new Map<string, { principal: Principal; expiresAt: number }>();
  return {
    open(principal) {
      const id = Buffer.from(random.bytes(32)).toString("base64url");
      const oldest = sessions.keys().next().value;
      if (sessions.size >= SESSIONS_MAX && oldest !== undefined) sessions.delete(oldest);
      sessions.set(hash("sha256", id), { principal, expiresAt: clock.now() + SESSION_MS });
      return id;
    },
    find(id, keys) {
      const session = sessions.get(hash("sha256", id));
      if (!session || session.expiresAt <= clock.now()) return null;
      const { keyHash } = session.principal;
      if (keyHash === null) return session.principal;
      // The key as it is now: a reload may have changed its role or its tenant.
      const key = keys.find((candidate) => candidate.hash === keyHash);
      return key ? { role: key.role, tenant: key.tenant, keyHash } : null;
    },
    end: (id) => {
      sessions.delete(hash("sha256", id));
    },
  };
}
