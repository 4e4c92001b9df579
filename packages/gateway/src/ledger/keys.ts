import type { Statement } from "better-sqlite3";
import type { KeyEntry } from "../config/snapshot.ts";
import type { Clock } from "../core/clock.ts";
import type { SqlRow } from "./columns.ts";
import type { KeyStore } from "./ledger.ts";
import { openSqlite, type Sqlite } from "./sqlite.ts";

const BUSY_TIMEOUT_MS = 5_000;

/**
 * Opens the keys in the ledger's database, which is made when missing. Calls wait up to 5 s for a locked database,
 * block the thread meanwhile, and throw SqliteError when it stays locked. A revocation for a later moment grows the
 * revision when it is made, not when it comes to hold.
 */
export function openKeys(options: { path: string; clock: Clock }): KeyStore {
  // A key that was shown to its owner must outlive a power cut.
  return new SqliteKeyStore(openSqlite(options.path, { busyTimeoutMs: BUSY_TIMEOUT_MS, durable: true }), options.clock);
}

class SqliteKeyStore implements KeyStore {
  readonly #db: Sqlite;
  readonly #clock: Clock;
  readonly #revision: Statement;
  readonly #bump: Statement;

  constructor(db: Sqlite, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
    this.#revision = db.prepare("SELECT value FROM revisions WHERE name = 'keys'").pluck();
    this.#bump = db.prepare("UPDATE revisions SET value = value + 1 WHERE name = 'keys'");
  }

  revision(): number {
    return Number(this.#revision.get());
  }

  list(): (KeyEntry & { createdAt: number; revokedAt: number | null })[] {
    const rows = this.#db.prepare("SELECT * FROM keys ORDER BY created_at, id").all() as SqlRow[];
    return rows.map(keyFrom);
  }

  insert(key: KeyEntry): void {
    const { id, hash, tenant, team, application, name, expiresAt } = key;
    const insert = this.#db.prepare(
      "INSERT INTO keys (id, hash, tenant, team, application, name, models, expires_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    );
    const models = key.models && JSON.stringify(key.models);
    const change = this.#db.transaction(() => {
      insert.run(id, hash, tenant, team, application, name, models, expiresAt, this.#clock.now());
      this.#bump.run();
    });
    change.immediate();
  }

  revoke(id: string, atMs?: number): boolean {
    const now = this.#clock.now();
    const revoke = this.#db.prepare(
      "UPDATE keys SET revoked_at = ? WHERE id = ? AND (revoked_at IS NULL OR revoked_at > ?)",
    );
    const change = this.#db.transaction(() => {
      const found = revoke.run(atMs ?? now, id, now).changes > 0;
      if (found) this.#bump.run();
      return found;
    });
    return change.immediate();
  }

  close(): void {
    this.#db.close();
  }
}

function keyFrom(row: SqlRow): KeyEntry & { createdAt: number; revokedAt: number | null } {
  const text = (name: string) => row[name] as string | null;
  return {
    id: String(row["id"]),
    hash: String(row["hash"]),
    tenant: String(row["tenant"]),
    team: text("team"),
    application: text("application"),
    name: text("name"),
    models: row["models"] === null ? null : JSON.parse(String(row["models"])),
    expiresAt: row["expires_at"] as number | null,
    source: "created",
    createdAt: Number(row["created_at"]),
    revokedAt: row["revoked_at"] as number | null,
  };
}
