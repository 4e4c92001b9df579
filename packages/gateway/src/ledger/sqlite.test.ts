import { statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { aDirectory } from "./fixtures/temporary.ts";
import { openSqlite, openSqliteReader } from "./sqlite.ts";

const options = { busyTimeoutMs: 1_000, durable: false };

function aPath(): string {
  return join(aDirectory(), "sub", "ledger.sqlite");
}

it("makes the database with its directory, for its owner's eyes only, once", () => {
  const path = aPath();
  const tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
  const first = openSqlite(path, options);
  const second = openSqlite(path, options);
  expect(second.prepare(tables).pluck().get()).toBe(5);
  expect(second.pragma("journal_mode", { simple: true })).toBe("wal");
  expect(second.pragma("page_size", { simple: true })).toBe(8_192);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  first.close();
  second.close();
});

it("refuses a database of a newer build, to write and to read", () => {
  const path = aPath();
  openSqlite(path, options).close();
  const newer = new Database(path);
  newer.pragma("user_version = 7");
  newer.close();
  expect(() => openSqlite(path, options)).toThrow(/has ledger schema 7, but this build knows only 3: start the newer/);
  expect(() => openSqliteReader(path)).toThrow("has ledger schema 7");
});

it("has nothing to read where there is no file, no directory, or no schema yet", () => {
  const path = aPath();
  expect(openSqliteReader(path)).toBeNull();
  const empty = join(aDirectory(), "empty.sqlite");
  new Database(empty).exec("CREATE TABLE other (x)").close();
  expect(openSqliteReader(empty)).toBeNull();
});

it("throws at once for a file that is no database", () => {
  const path = join(aDirectory(), "text");
  expect(() => openSqlite(import.meta.filename, options)).toThrow("not a database");
  expect(openSqliteReader(path)).toBeNull();
});
