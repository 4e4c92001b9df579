import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { RedisClient } from "./redis-client.ts";
import type { Script } from "./script.ts";
import type { Standing } from "./state.ts";

/** The store has not answered: nobody knows whether it did what it was asked. `sent` false: it was not asked. */
export class StoreLost extends Error {
  readonly sent: boolean;

  constructor(sent: boolean) {
    super("the shared store does not answer");
    this.sent = sent;
  }
}

/** What a script is given. */
export interface ScriptCall {
  keys: string[];
  args: (string | number | Buffer)[];
}

/** Failures in a row, one after the other, that make it a lost one. */
const FAILURES = 3;
/** Probes in a row without an answer after which the connection itself is doubted and made anew. */
const DOUBT = 12;

/**
 * The connection to the store with a breaker around it: a store that answers late is left alone for a while, and looked after in
 * the background, so that a slow one costs calls no more than a dead one.
 */
export class RedisLink {
  readonly #client: RedisClient;
  readonly #clock: Clock;
  readonly #patienceMs: number;
  /** Open until a probe has come back: also a new connection has to show what it can do. */
  #open = true;
  #problem: string | null = null;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #silent = 0;

  /** `onReady`: there is a new connection, and it wants to be probed. */
  constructor(client: RedisClient, clock: Clock, onReady: () => void, patienceMs: number = LIMITS.storeAnswerMs) {
    this.#client = client;
    this.#clock = clock;
    this.#patienceMs = patienceMs;
    client.on("ready", onReady);
    client.on("close", () => {
      this.#open = true;
    });
    client.on("error", (error: unknown) => {
      this.#problem = problemOf(error);
    });
    client.connect().catch(() => {});
  }

  standing(): Standing {
    if (this.#client.status !== "ready") return "down";
    return this.#open ? "degraded" : "ok";
  }

  /** Whether asking is worth while. */
  get usable(): boolean {
    return !this.#open && this.#client.status === "ready";
  }

  /** Why it is not `ok`, in a word of the store's or the system's; null: it is, or nobody knows. */
  get problem(): string | null {
    return this.standing() === "ok" ? null : this.#problem;
  }

  /** Runs a script. Rejects with StoreLost, within 50 ms, when the store does not answer, or answers with an error. */
  async run(script: Script, call: ScriptCall): Promise<unknown> {
    if (!this.usable) throw new StoreLost(false);
    return this.#guarded(() => this.#execute(script, call, false));
  }

  /** The same, with strings as they are in the store. */
  async runBytes(script: Script, call: ScriptCall): Promise<unknown> {
    if (!this.usable) throw new StoreLost(false);
    return this.#guarded(() => this.#execute(script, call, true));
  }

  /** All fields of a hash. */
  async fields(key: string): Promise<Record<string, string>> {
    if (!this.usable) throw new StoreLost(false);
    return this.#guarded(() => this.#client.hgetall(key));
  }

  /** Runs a script whatever the breaker says, and lets its outcome move the breaker. For the heartbeat: one at a time. */
  async probe(script: Script, call: ScriptCall): Promise<unknown> {
    if (this.#client.status !== "ready") {
      this.#doubt();
      throw new StoreLost(false);
    }
    try {
      const answer = await this.#guarded(() => this.#execute(script, call, false));
      this.#open = false;
      this.#silent = 0;
      return answer;
    } catch (error) {
      this.#doubt();
      throw error;
    }
  }

  close(): void {
    this.#client.disconnect();
  }

  /** A connection over which nothing comes any more looks like one that is quiet: after a while another one is made. */
  #doubt(): void {
    this.#silent++;
    if (this.#silent < DOUBT) return;
    this.#silent = 0;
    if (this.#client.status === "end") this.#client.connect().catch(() => {});
    else if (this.#client.status !== "reconnecting") this.#client.disconnect(true);
  }

  async #execute(script: Script, { keys, args }: ScriptCall, bytes: boolean): Promise<unknown> {
    const client = this.#client;
    try {
      return bytes
        ? await client.callBuffer("evalsha", script.sha, keys.length, ...keys, ...args)
        : await client.evalsha(script.sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
      return bytes
        ? await client.callBuffer("eval", script.lua, keys.length, ...keys, ...args)
        : await client.eval(script.lua, keys.length, ...keys, ...args);
    }
  }

  #guarded<T>(ask: () => Promise<T>): Promise<T> {
    const startedAt = this.#clock.monotonic();
    return new Promise((resolve, reject) => {
      let timer: Timer | null = null;
      let isOver = false;
      const failed = (error?: unknown): void => {
        if (isOver) return;
        isOver = true;
        timer?.cancel();
        this.#problem = problemOf(error);
        this.#failed(startedAt);
        reject(new StoreLost(true));
      };
      ask().then((answer) => {
        // What comes too late is no success: a store that is always late is a lost one.
        if (isOver) return;
        isOver = true;
        timer?.cancel();
        this.#failures = 0;
        resolve(answer);
      }, failed);
      // A busy event loop fires timers before it reads sockets: the answer may be there already, and gets its turn.
      timer = this.#clock.after(this.#patienceMs, () => setImmediate(() => failed()));
    });
  }

  /** Calls that were out together fail together: that is one failure. */
  #failed(startedAt: number): void {
    if (startedAt < this.#failedAt) return;
    this.#failedAt = this.#clock.monotonic();
    this.#failures++;
    if (this.#failures >= FAILURES) this.#open = true;
  }
}

/** The code of an error, and nothing else of it: what was sent may stand in the rest. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return "slow";
  if ("code" in error && typeof error.code === "string") return error.code;
  return /^[A-Z]{2,20}(?= )/.exec(error.message)?.[0] ?? error.name;
}
