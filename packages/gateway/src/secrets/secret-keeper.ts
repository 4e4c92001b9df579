import type { SecretLookup, SecretValue } from "../config/secret-lookup.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { Random } from "../core/random.ts";
import { SECRET_BOUNDS } from "./bounds.ts";
import { type Lease, type Named, type Reading, SecretFault, type SecretManager } from "./manager.ts";
import { Turnstile } from "./turnstile.ts";

/** What a keeper is made from. */
export interface KeeperOptions {
  clock: Clock;
  random: Random;
  /** By the scheme of their references. */
  managers: Readonly<Record<string, SecretManager>>;
  /** A document has come that is not what it was. Resolves when whoever uses it has taken it up. */
  changed(): Promise<void>;
  /** A manager stops giving a document, or gives it again (`fault` null). Holds no secret. */
  told(document: string, fault: string | null): void;
}

/** How the secrets are. Times are epoch ms. */
export interface SecretsState {
  state: "ok" | "degraded";
  /** When the one that was longest ago was read; null where nothing is kept. */
  oldestReadAt: number | null;
}

/** One document of a manager's: all fields of it are of one moment, so that a user name and its password fit. */
interface Kept {
  name: string;
  manager: SecretManager;
  path: string;
  reading: Reading | null;
  readAt: number;
  readMonotonic: number;
  /** When the lease was given or renewed, monotonic ms. */
  leasedAt: number;
  failures: number;
  fault: string | null;
  asking: Promise<void> | null;
  timer: Timer | null;
  /** Something that is served refers to it. */
  wanted: boolean;
}

/**
 * Asks the secret managers and keeps what they gave: at hand for `refreshMs`, read anew a little before that, leases renewed
 * at half of their time. A manager that does not answer is asked again with back-off, and its last word holds meanwhile.
 */
export class SecretKeeper implements SecretLookup {
  readonly #options: KeeperOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #turnstile = new Turnstile(SECRET_BOUNDS.asksMax);
  #refreshMs = 300_000;
  #asking = 0;
  #closed = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** The value of a reference: the one at hand while it is fresh, else asked for; the last known one if that fails. */
  async lookUp(scheme: string, rest: string): Promise<SecretValue> {
    const manager = this.#options.managers[scheme];
    if (!manager) return { refused: `\`${scheme}:\` references are not implemented` };
    const named = manager.parse(rest);
    if ("refused" in named) return named;
    const document = documentName(scheme, named);
    const kept = this.#kept.get(document) ?? this.#open(document, manager, named.path);
    if (!this.#isFresh(kept) && !this.#isBeingSought(kept)) await this.#ask(kept);
    if (kept.reading === null) return { missing: kept.fault ?? "it was not read", document };
    return { ...fieldOf(kept.reading, named, scheme), document };
  }

  /** How long a value is at hand before it is read anew. */
  refreshEvery(ms: number): void {
    if (ms === this.#refreshMs) return;
    this.#refreshMs = ms;
    for (const kept of this.#kept.values()) if (kept.wanted) this.#schedule(kept);
  }

  /** These documents are what the served config refers to; they are kept up to date, the others forgotten. */
  retain(documents: ReadonlySet<string>): void {
    for (const [name, kept] of this.#kept) {
      kept.wanted = documents.has(name);
      if (!kept.wanted) {
        kept.timer?.cancel();
        this.#kept.delete(name);
      } else if (kept.timer === null) this.#schedule(kept);
    }
  }

  /** Reads documents at once, because something that came from them was refused. */
  async refetch(documents: Iterable<string>): Promise<void> {
    const asked = [...documents].flatMap((name) => this.#kept.get(name) ?? []);
    await Promise.all(asked.map((kept) => this.#update(kept)));
  }

  state(): SecretsState {
    let oldestReadAt: number | null = null;
    let isWhole = true;
    for (const { wanted, fault, reading, readAt } of this.#kept.values()) {
      if (!wanted) continue;
      if (fault !== null) isWhole = false;
      if (reading) oldestReadAt = Math.min(oldestReadAt ?? readAt, readAt);
    }
    return { state: isWhole ? "ok" : "degraded", oldestReadAt };
  }

  /** Nobody is being asked. */
  get idle(): boolean {
    return this.#asking === 0;
  }

  close(): void {
    this.#closed = true;
    for (const kept of this.#kept.values()) kept.timer?.cancel();
    this.#kept.clear();
  }

  #open(name: string, manager: SecretManager, path: string): Kept {
    const none = { reading: null, readAt: 0, readMonotonic: 0, leasedAt: 0, failures: 0, fault: null };
    const kept: Kept = { name, manager, path, ...none, asking: null, timer: null, wanted: false };
    this.#kept.set(name, kept);
    return kept;
  }

  /** A dynamic secret is used for as long as its lease runs: reading it again would make another one. */
  #isFresh({ reading, readMonotonic, leasedAt }: Kept): boolean {
    if (!reading) return false;
    const now = this.#options.clock.monotonic();
    if (reading.lease) return now < leasedAt + reading.lease.durationMs;
    return now < readMonotonic + this.#refreshMs;
  }

  /** Its manager does not answer and is asked again and again: until it does, the last value holds. */
  #isBeingSought({ wanted, reading, failures }: Kept): boolean {
    return wanted && reading !== null && failures > 0;
  }

  /** One question for a document at a time; whoever comes meanwhile waits for the same answer. Never rejects. */
  #ask(kept: Kept): Promise<void> {
    kept.asking ??= this.#read(kept).finally(() => {
      kept.asking = null;
      if (kept.wanted) this.#schedule(kept);
    });
    return kept.asking;
  }

  async #update(kept: Kept): Promise<void> {
    const before = kept.reading;
    await this.#ask(kept);
    if (this.#closed || kept.reading === null || isSame(before, kept.reading)) return;
    await this.#options.changed();
  }

  async #read(kept: Kept): Promise<void> {
    try {
      this.#took(kept, await this.#bounded((signal) => kept.manager.read(kept.path, signal)));
    } catch (thrown) {
      this.#failed(kept, thrown);
    }
  }

  #took(kept: Kept, reading: Reading): void {
    const { clock } = this.#options;
    kept.reading = reading;
    kept.readAt = clock.now();
    kept.readMonotonic = clock.monotonic();
    kept.leasedAt = kept.readMonotonic;
    this.#well(kept);
  }

  #well(kept: Kept): void {
    kept.failures = 0;
    if (kept.fault === null) return;
    kept.fault = null;
    if (kept.wanted) this.#options.told(kept.name, null);
  }

  #failed(kept: Kept, thrown: unknown): void {
    kept.failures++;
    const isNews = kept.fault === null;
    kept.fault = thrown instanceof SecretFault ? thrown.message : "the manager's answer could not be used";
    if (isNews && kept.wanted && !this.#closed) this.#options.told(kept.name, kept.fault);
  }

  async #renew(kept: Kept, lease: Lease): Promise<void> {
    const { manager } = kept;
    try {
      const renewed = await this.#bounded((signal) => manager.renew?.(lease, signal) ?? Promise.resolve(lease));
      // Near its longest life a lease is renewed for less and less: then it is time for a new secret.
      if (renewed.durationMs < lease.durationMs / 2) return await this.#update(kept);
      const { clock } = this.#options;
      kept.leasedAt = clock.monotonic();
      kept.readAt = clock.now();
      if (kept.reading) kept.reading = { ...kept.reading, lease: { ...lease, id: renewed.id } };
      this.#well(kept);
    } catch (thrown) {
      const isOver = thrown instanceof SecretFault && thrown.kind !== "unreachable";
      if (isOver) return this.#update(kept);
      this.#failed(kept, thrown);
    }
    this.#schedule(kept);
  }

  #schedule(kept: Kept): void {
    kept.timer?.cancel();
    if (this.#closed || this.#kept.get(kept.name) !== kept) return;
    kept.timer = this.#options.clock.after(this.#delayOf(kept), () => {
      const lease = kept.reading?.lease ?? null;
      const canRenew = lease?.renewable === true && kept.manager.renew !== undefined;
      void (lease && canRenew ? this.#renew(kept, lease) : this.#update(kept));
    });
  }

  /** Jittered, so that the replicas of an installation do not ask all at once. */
  #delayOf(kept: Kept): number {
    const chance = this.#options.random.float();
    if (kept.failures > 0) {
      const { backOffFirstMs, backOffLastMs } = SECRET_BOUNDS;
      return Math.min(backOffLastMs, backOffFirstMs * 2 ** (kept.failures - 1)) * (0.5 + chance / 2);
    }
    const lease = kept.reading?.lease;
    if (lease) return (lease.durationMs / 2) * (0.9 + chance / 10);
    return this.#refreshMs * (0.8 + chance * 0.15);
  }

  /** Few at a time, and each within its time. */
  #bounded<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#turnstile.pass(async () => {
      this.#asking++;
      const controller = new AbortController();
      const timer = this.#options.clock.after(SECRET_BOUNDS.askMs, () => controller.abort());
      try {
        return await Promise.race([act(controller.signal), aborted(controller.signal)]);
      } finally {
        timer.cancel();
        this.#asking--;
      }
    });
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = (): void => reject(new SecretFault("unreachable", `no answer within ${SECRET_BOUNDS.askMs} ms`));
    signal.addEventListener("abort", fail, { once: true });
  });
}

function documentName(scheme: string, { path }: Named): string {
  return `${scheme}:${path}`;
}

function isSame(before: Reading | null, after: Reading): boolean {
  return before !== null && JSON.stringify(before.data) === JSON.stringify(after.data);
}

function fieldOf({ data }: Reading, { field }: Named, scheme: string): { value: string } | { missing: string } {
  if (field === null) {
    if (typeof data !== "string") return { missing: `${scheme} holds fields there; name one behind #` };
    return data === "" ? { missing: "it is empty" } : { value: data.replace(/[\r\n]+$/, "") };
  }
  const fields = typeof data === "string" ? parsed(data) : data;
  if (!fields) return { missing: `it is no JSON object, so it has no field \`${field}\`` };
  const value = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (value === undefined || value === null) return { missing: `it has no field \`${field}\`` };
  if (value === "") return { missing: `its field \`${field}\` is empty` };
  // A credential file is often stored as the JSON that it is.
  return { value: typeof value === "string" ? value.replace(/[\r\n]+$/, "") : JSON.stringify(value) };
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
