import type { Clock, Timer } from "../core/clock.ts";
import type { Random } from "../core/random.ts";
import type { Secret } from "../core/secret.ts";
import { ceilingScripts } from "./ceiling-scripts.ts";
import { BOARD_CHANNEL, BOARD_KEY, RedisBoard } from "./redis-board.ts";
import { RedisCeilings } from "./redis-ceilings.ts";
import { type RedisClient, redisClient } from "./redis-client.ts";
import { RedisLink } from "./redis-link.ts";
import { REPLAY_CHANNEL, RedisReplays } from "./redis-replays.ts";
import { parseRedisUrl } from "./redis-url.ts";
import { redisKey, script } from "./script.ts";
import type { SharedState, Standing } from "./state.ts";

/** How often the store is looked at, while it answers and while it does not. */
const BEAT_MS = 1_000;
const LOST_BEAT_MS = 250;

/** Says that this replica is there. Answers which store this is, the board's revision, and how many replicas there are. */
const BEAT = script(`
local now = NOW
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 5000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], 10000)
redis.call('HSETNX', KEYS[2], 'epoch', ARGV[2])
redis.call('PEXPIRE', KEYS[2], 86400000)
local got = redis.call('HMGET', KEYS[2], 'epoch', 'rev')
return { got[1], tonumber(got[2] or 0), redis.call('ZCARD', KEYS[1]) }`);

/** What it is made of. */
export interface RedisStateOptions {
  url: Secret;
  clock: Clock;
  random: Random;
  /** Told when the standing changes; `problem`: a word of the store's or the system's, without anything of the address. */
  onStanding?: (standing: Standing, problem: string | null) => void;
  /** The time of ceilings, as an expression of Lua, where it is not the server's. */
  ceilingTime?: string;
  /** How long an answer of the store is waited for, ms. Default 50. */
  patienceMs?: number;
}

/** State that replicas share in Redis or Valkey. Works before it is connected, and when it is lost: see state.ts. */
export class RedisState implements SharedState {
  readonly kind = "redis";
  readonly board: RedisBoard;
  readonly replays: RedisReplays;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #onStanding: (standing: Standing, problem: string | null) => void;
  readonly #replica: string;
  readonly #link: RedisLink;
  readonly #subscriber: RedisClient;
  readonly #ceilings: RedisCeilings;
  #standing: Standing = "down";
  #epoch: string | null = null;
  #beating = false;
  #timer: Timer | null = null;
  #closed = false;
  readonly #waiting = new Set<() => void>();

  /** Throws when the address is not one; never shows it. */
  constructor({ url, clock, random, onStanding = () => {}, ceilingTime, patienceMs }: RedisStateOptions) {
    const target = parseRedisUrl(url.reveal());
    this.#clock = clock;
    this.#random = random;
    this.#onStanding = onStanding;
    this.#replica = this.#token();
    this.#link = new RedisLink(redisClient(target), clock, () => void this.#beat(), patienceMs);
    this.#ceilings = new RedisCeilings(this.#link, clock, ceilingScripts(ceilingTime));
    this.board = new RedisBoard(this.#link, clock, this.#replica);
    this.replays = new RedisReplays(this.#link, clock, this.#replica);
    this.#subscriber = redisClient(target);
    this.#listen();
    this.#next();
  }

  standing(): Standing {
    return this.#link.standing();
  }

  /** Why it is not `ok`, in a word that shows nothing of the address; null: it is, or nobody knows. */
  get problem(): string | null {
    return this.#link.problem;
  }

  reserve: SharedState["reserve"] = (request) => this.#ceilings.reserve(request);

  settle: SharedState["settle"] = (settlement) => this.#ceilings.settle(settlement);

  used: SharedState["used"] = (ceiling) => this.#ceilings.used(ceiling);

  reservedTokens: SharedState["reservedTokens"] = () => this.#ceilings.reservedTokens();

  /** Resolves when the store has answered for the first time, or after so long without. */
  async connected(waitMs: number): Promise<void> {
    if (this.#epoch !== null) return;
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(waitMs, resolve);
      this.#waiting.add(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    await this.#ceilings.flush();
    this.#link.close();
    this.#subscriber.disconnect();
  }

  #listen(): void {
    this.#subscriber.on("message", (channel: string, message: string) => {
      if (channel === BOARD_CHANNEL) this.board.heard(message);
      if (channel === REPLAY_CHANNEL) this.replays.ended(message);
    });
    // Lost, it is connected anew by itself; what was missed meanwhile the heartbeat finds.
    this.#subscriber.on("ready", () => {
      this.#subscriber.subscribe(BOARD_CHANNEL, REPLAY_CHANNEL).catch(() => this.#subscriber.disconnect(true));
    });
    this.#subscriber.connect().catch(() => {});
  }

  #next(): void {
    this.#timer?.cancel();
    if (this.#closed) return;
    this.#timer = this.#clock.after(this.#link.usable ? BEAT_MS : LOST_BEAT_MS, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    if (this.#beating || this.#closed) return;
    this.#beating = true;
    try {
      const answer = await this.#link.probe(BEAT, {
        keys: [redisKey("replicas"), BOARD_KEY],
        args: [this.#replica, this.#token()],
      });
      await this.#alive(answer as [string, number, number]);
    } catch {
      // The link knows; calls go on without the store.
    } finally {
      this.#beating = false;
      this.#noteStanding();
      this.#next();
    }
  }

  async #alive([epoch, revision, replicas]: [string, number, number]): Promise<void> {
    const before = this.#epoch;
    this.#epoch = epoch;
    this.#noteStanding();
    // In this order, over one connection: what the store has forgotten, then what happened without it.
    if (before !== null && before !== epoch) this.#ceilings.restore();
    this.#ceilings.back(replicas);
    this.replays.look();
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
    if (before !== epoch) await this.board.sync();
    else await this.board.follow(revision);
  }

  #noteStanding(): void {
    const standing = this.#link.standing();
    if (standing === this.#standing || this.#closed) return;
    this.#standing = standing;
    this.#onStanding(standing, this.#link.problem);
  }

  #token(): string {
    return Buffer.from(this.#random.bytes(9)).toString("base64url");
  }
}
