import type { Clock } from "../core/clock.ts";
import { STATE_BOUNDS } from "./bounds.ts";
import { LocalBoard } from "./local-board.ts";
import type { RedisLink } from "./redis-link.ts";
import { redisKey, script } from "./script.ts";
import type { BoardRecord, SharedBoard } from "./state.ts";

/** One hash: the records under `k:` and their keys, their revision under `rev`, and under `epoch` which store this is. */
export const BOARD_KEY = redisKey("board");
/** Where changes are told: the revision, a space, and JSON. */
export const BOARD_CHANNEL = redisKey("board", "changed");

/** The record there is if that is a later one; 0 when the board is full; otherwise the new revision. */
const PUBLISH = script(`
local old = redis.call('HGET', KEYS[1], 'k:' .. ARGV[1])
if old then
  if (tonumber(string.match(old, '^%S+')) or -math.huge) > tonumber(ARGV[2]) then return old end
elseif redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) + 2 then return 0 end
redis.call('HSET', KEYS[1], 'k:' .. ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
local rev = redis.call('HINCRBY', KEYS[1], 'rev', 1)
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], 86400000) end
redis.call('PUBLISH', ARGV[5], rev .. ' ' .. ARGV[6])
return rev`);

/** Takes a name unless somebody else has it. */
const LEASE = script(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`);

/** Gives a name back that is still one's own. */
const RELEASE = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1`);

/** The board that replicas share: told by pub/sub, and looked at once a second so that a message that was missed heals. */
export class RedisBoard implements SharedBoard {
  readonly #link: RedisLink;
  readonly #replica: string;
  readonly #local: LocalBoard;
  /** The revision up to which everything was heard. */
  #heard = -1;

  constructor(link: RedisLink, clock: Clock, replica: string) {
    this.#link = link;
    this.#replica = replica;
    this.#local = new LocalBoard(clock);
  }

  publish(key: string, record: BoardRecord): void {
    if (this.#local.accept(key, record)) this.#send(key, record);
  }

  listen(fn: (key: string, record: BoardRecord | null) => void): () => void {
    return this.#local.listen(fn);
  }

  async lease(name: string, ttlMs: number): Promise<boolean> {
    try {
      return (await this.#link.run(LEASE, { keys: [leaseKey(name)], args: [this.#replica, ttlMs] })) === 1;
    } catch {
      return true;
    }
  }

  release(name: string): void {
    this.#link.run(RELEASE, { keys: [leaseKey(name)], args: [this.#replica] }).catch(() => {});
  }

  /** A message of the channel. */
  heard(message: string): void {
    const space = message.indexOf(" ");
    const revision = Number(message.slice(0, space));
    const told = parsed(message.slice(space + 1)) as { by?: string; key?: string; record?: BoardRecord } | null;
    if (this.#heard === revision - 1) this.#heard = revision;
    if (told?.key === undefined || !isRecord(told.record) || told.by === this.#replica) return;
    this.#local.accept(told.key, told.record);
  }

  /** The heartbeat has seen a revision: if it was not heard of, everything is read. */
  async follow(revision: number): Promise<void> {
    if (revision !== this.#heard) await this.sync();
  }

  /** Both sides learn what the other one knows: after a time apart, and when the store has forgotten. Rejects when it is lost. */
  async sync(): Promise<void> {
    const fields = await this.#link.fields(BOARD_KEY);
    const stored = new Map<string, number>();
    for (const [field, text] of Object.entries(fields)) {
      if (!field.startsWith("k:")) continue;
      const record = parsed(text.slice(text.indexOf(" ") + 1));
      if (!isRecord(record)) continue;
      stored.set(field.slice(2), record.version);
      this.#local.accept(field.slice(2), record);
    }
    this.#heard = Number(fields["rev"] ?? 0);
    for (const [key, record] of this.#local.records()) {
      if ((stored.get(key) ?? Number.NEGATIVE_INFINITY) < record.version) this.#send(key, record);
    }
  }

  #send(key: string, record: BoardRecord): void {
    const json = JSON.stringify(record);
    const message = JSON.stringify({ by: this.#replica, key, record });
    const args = [key, String(record.version), json, STATE_BOUNDS.recordsMax, BOARD_CHANNEL, message];
    this.#link.run(PUBLISH, { keys: [BOARD_KEY], args }).then(
      (answer) => {
        // Somebody wrote a later one, and this replica has missed it.
        const later = typeof answer === "string" ? parsed(answer.slice(answer.indexOf(" ") + 1)) : null;
        if (isRecord(later)) this.#local.accept(key, later);
      },
      () => {
        // Told when the store is back: the next look finds a revision that was never heard.
        this.#heard = -1;
      },
    );
  }
}

function leaseKey(name: string): string {
  return redisKey("lease", name);
}

function isRecord(value: unknown): value is BoardRecord {
  return typeof value === "object" && value !== null && "version" in value && typeof value.version === "number";
}

/** What another version of the gateway wrote may be anything. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
