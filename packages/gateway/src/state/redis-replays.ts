import type { Clock } from "../core/clock.ts";
import { STATE_BOUNDS } from "./bounds.ts";
import { LocalReplays } from "./local-replays.ts";
import type { RedisLink } from "./redis-link.ts";
import { redisKey, script } from "./script.ts";
import type { Claim, ReplayRun, Replays } from "./state.ts";
import { Watchers } from "./watchers.ts";

/** Where the end of a run is told: its key. */
export const REPLAY_CHANNEL = redisKey("replay", "ended");

/** A hash: of the body `h`, whose run it is `o`, and the answer `a` once there is one. */
const CLAIM = script(`
local got = redis.call('HMGET', KEYS[1], 'h', 'a')
if got[1] then return got end
redis.call('HSET', KEYS[1], 'h', ARGV[1], 'o', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {}`);

const RENEW = script(`
local got = redis.call('HMGET', KEYS[1], 'o', 'a')
if got[1] == ARGV[1] and not got[2] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1`);

/** Also where the claim ran out or was forgotten by the store, as long as nobody else has claimed. */
const COMPLETE = script(`
local got = redis.call('HMGET', KEYS[1], 'o', 'a')
if got[1] and got[1] ~= ARGV[1] or got[2] then return 0 end
redis.call('HSET', KEYS[1], 'h', ARGV[2], 'o', ARGV[1], 'a', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PUBLISH', ARGV[5], ARGV[6])
return 1`);

const FORGET = script(`
local got = redis.call('HMGET', KEYS[1], 'o', 'a')
if got[1] ~= ARGV[1] or got[2] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1`);

/** Of each key: 1 while it is claimed and without an answer. */
const RUNNING = script(`
local running = {}
for i, key in ipairs(KEYS) do
  local got = redis.call('HMGET', key, 'h', 'a')
  running[i] = got[1] and not got[2] and 1 or 0
end
return running`);

/** Answers that replicas share. Without the store, those of this replica. */
export class RedisReplays implements Replays {
  readonly #link: RedisLink;
  readonly #replica: string;
  readonly #local: LocalReplays;
  readonly #watchers = new Watchers();
  #claims = 0;

  constructor(link: RedisLink, clock: Clock, replica: string) {
    this.#link = link;
    this.#replica = replica;
    this.#local = new LocalReplays(clock);
  }

  async claim(key: string, bodyHash: string, leaseMs: number): Promise<Claim> {
    // What was run or answered here while the store was lost is known only here.
    const here = this.#local.find(key);
    if (here) return here;
    const owner = `${this.#replica}.${++this.#claims}`;
    const shared = this.#run(key, bodyHash, owner);
    try {
      const answer = await this.#link.runBytes(CLAIM, { keys: [replayKey(key)], args: [bodyHash, owner, leaseMs] });
      const [hash, body] = answer as [Buffer?, (Buffer | null)?];
      if (!hash) return { state: "mine", run: shared };
      return body
        ? { state: "done", bodyHash: hash.toString(), answer: body }
        : { state: "running", bodyHash: hash.toString() };
    } catch {
      const claim = await this.#local.claim(key, bodyHash, leaseMs);
      // It may have been claimed there all the same; and the store may be back before the answer is.
      return claim.state === "mine" ? { state: "mine", run: both(claim.run, shared) } : claim;
    }
  }

  watch(key: string, fn: () => void): () => void {
    let told = false;
    const once = (): void => {
      if (told) return;
      told = true;
      end();
      fn();
    };
    const ends = [this.#watchers.add(key, once)];
    const end = (): void => {
      for (const one of ends) one();
    };
    if (this.#local.find(key)) ends.push(this.#local.watch(key, once));
    else this.#look([key]);
    return end;
  }

  /** A run has ended, says the channel. */
  ended(key: string): void {
    this.#watchers.fire(key);
  }

  /** Looks after the keys that are watched: messages can be missed, and a run whose replica is gone ends in silence. */
  look(): void {
    const keys = this.#watchers.keys();
    for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) this.#look(keys.slice(from, from + KEYS_AT_ONCE));
  }

  #look(keys: readonly string[]): void {
    this.#link.run(RUNNING, { keys: keys.map(replayKey), args: [] }).then(
      (answer) => {
        const running = answer as number[];
        keys.forEach((key, i) => {
          if (running[i] === 0 && this.#local.find(key)?.state !== "running") this.#watchers.fire(key);
        });
      },
      () => {},
    );
  }

  #run(key: string, bodyHash: string, owner: string): ReplayRun {
    const keys = [replayKey(key)];
    let over = false;
    const end = (fn: () => void): void => {
      if (over) return;
      over = true;
      fn();
    };
    const forget = (): void => {
      this.#link.run(FORGET, { keys, args: [owner, REPLAY_CHANNEL, key] }).catch(() => {});
    };
    return {
      renew: (leaseMs) => {
        if (!over) this.#link.run(RENEW, { keys, args: [owner, leaseMs] }).catch(() => {});
      },
      complete: (answer, ttlMs) =>
        end(() => {
          if (answer.byteLength > STATE_BOUNDS.replayBytesMax) return forget();
          const args = [owner, bodyHash, answer, ttlMs, REPLAY_CHANNEL, key];
          this.#link.run(COMPLETE, { keys, args }).catch(() => {
            // A retry that comes here is answered at least.
            this.#local.keep(key, bodyHash, answer, ttlMs);
            this.#watchers.fire(key);
          });
        }),
      forget: () => end(forget),
    };
  }
}

/** Keys in one look. */
const KEYS_AT_ONCE = 200;

function replayKey(key: string): string {
  return redisKey("replay", key);
}

function both(a: ReplayRun, b: ReplayRun): ReplayRun {
  return {
    renew(leaseMs) {
      a.renew(leaseMs);
      b.renew(leaseMs);
    },
    complete(answer, ttlMs) {
      a.complete(answer, ttlMs);
      b.complete(answer, ttlMs);
    },
    forget() {
      a.forget();
      b.forget();
    },
  };
}
