import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, expect, it } from "vitest";
import type { KeyEntry } from "../config/snapshot.ts";
import { systemClock } from "../core/clock.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { openKeys } from "./keys.ts";
import type { KeyStore } from "./ledger.ts";

let path: string;
let now: number;
let keys: KeyStore;
const clock = { ...systemClock, now: () => now };

beforeEach(() => {
  path = join(aDirectory(), "ledger.sqlite");
  now = 1_000;
  keys = openKeys({ path, clock });
});

function aKey(id: string, changes: Partial<KeyEntry> = {}): KeyEntry {
  const nobody = { team: null, application: null, name: null, models: null, expiresAt: null };
  return { id, hash: `hash-of-${id}`, tenant: "acme", ...nobody, source: "created", ...changes };
}

it("keeps what it is given, and tells every change by a higher revision, also to others", () => {
  const others = openKeys({ path, clock });
  const models = { allow: ["fast"], deny: ["deployment:x"] };
  const full = aKey("b", { team: "pay", application: "bot", name: "B", models, expiresAt: 9_000 });
  expect(keys.revision()).toBe(0);
  keys.insert(full);
  now = 2_000;
  others.insert(aKey("a"));
  expect(keys.revision()).toBe(2);
  expect(keys.list()).toEqual([
    { ...full, createdAt: 1_000, revokedAt: null },
    { ...aKey("a"), createdAt: 2_000, revokedAt: null },
  ]);
});

it("revokes a live key now or later, once, and changes nothing otherwise", () => {
  keys.insert(aKey("a"));
  expect(keys.revoke("nobody")).toBe(false);
  expect(keys.revision()).toBe(1);
  expect(keys.revoke("a", 5_000)).toBe(true);
  expect(keys.list()[0]?.revokedAt).toBe(5_000);
  expect(keys.revoke("a"), "still live: now at once").toBe(true);
  expect(keys.list()[0]?.revokedAt).toBe(1_000);
  expect(keys.revoke("a")).toBe(false);
  expect(keys.revision()).toBe(3);
});

it("changes key and revision together or not at all", () => {
  keys.insert(aKey("a"));
  expect(() => keys.insert(aKey("a"))).toThrow("UNIQUE");
  expect(() => keys.insert(aKey("b", { hash: "hash-of-a" }))).toThrow("UNIQUE");
  expect(keys.revision()).toBe(1);
  expect(keys.list()).toHaveLength(1);
});

it("reads while another writes", () => {
  keys.insert(aKey("a"));
  const other = new Database(path);
  other.exec("BEGIN IMMEDIATE; UPDATE revisions SET value = 99");
  expect(keys.revision()).toBe(1);
  other.close();
});
