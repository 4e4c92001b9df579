import { type Client, ErrorCode, NOOP_PROVIDER, OpenFeature, type Provider } from "@openfeature/server-sdk";
import type { Environment } from "../config/env.ts";
import type { FlagsConfig } from "../config/snapshot.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../telemetry/log.ts";
import { FLAG_BOUNDS } from "./bounds.ts";
import { EnvProvider } from "./env-provider.ts";

/** Who asks (ROUTE-9). The targeting key is the session, else the tenant. */
export interface FlagContext {
  session: string | null;
  tenant: string;
  team: string | null;
  application: string | null;
  alias: string | null;
  /** Name of the environment the gateway was started for. */
  environment: string | null;
}

/** What flags said, by name. */
export type FlagValues = Readonly<Record<string, boolean>>;

/** What a reader stands on. */
export interface FlagParts {
  clock: Clock;
  environment: Pick<Environment, "get">;
  log: Pick<Log, "warn">;
  /** Unlike that of every other reader of the process: OpenFeature keeps providers by it. */
  domain: string;
}

interface Kept {
  value: boolean;
  /** Until when it is used again, monotonic ms. */
  until: number;
}

/**
 * Reads feature flags through OpenFeature. A flag that nobody knows, or that is not told in time, is on: a flag turns
 * things off. What is known is answered at once, so that a request waits at most once for its session, and briefly.
 */
export class FlagReader {
  readonly #parts: FlagParts;
  readonly #client: Client;
  /** By flag and context; the one that was asked first is the first. */
  readonly #kept = new Map<string, Kept>();
  readonly #pending = new Map<string, Promise<boolean>>();
  readonly #told = new Set<string>();
  #isOn = false;
  /** Counts configs: an answer under an older one is not kept. */
  #generation = 0;

  constructor(parts: FlagParts) {
    this.#parts = parts;
    this.#client = OpenFeature.getClient(parts.domain);
  }

  /** Takes up what the config says; null: no flags, and everything is on. */
  follow(config: FlagsConfig | null): void {
    this.use(config && new EnvProvider(this.#parts.environment, config.prefix));
  }

  /** Asks this provider from now on; null: nobody. */
  use(provider: Provider | null): void {
    this.#generation++;
    this.#kept.clear();
    this.#pending.clear();
    this.#told.clear();
    if (provider || this.#isOn) OpenFeature.setProvider(this.#parts.domain, provider ?? NOOP_PROVIDER);
    this.#isOn = provider !== null;
  }

  /** What these flags say; a promise where one of them has to be asked for. Never throws or rejects, and waits 20 ms at most. */
  read(names: readonly string[], context: FlagContext): FlagValues | Promise<FlagValues> {
    const now = this.#parts.clock.monotonic();
    const asked = JSON.stringify(context);
    const values: Record<string, boolean> = {};
    const missing: { name: string; key: string }[] = [];
    for (const name of names) {
      const key = `${name} ${asked}`;
      const kept = this.#isOn ? this.#kept.get(key) : undefined;
      values[name] = kept?.value ?? true;
      if (this.#isOn && (!kept || kept.until <= now)) missing.push({ name, key });
    }
    if (missing.length === 0) return values;
    return this.#readMissing(missing, context, values);
  }

  /** Lets go of its provider. */
  close(): void {
    this.use(null);
  }

  async #readMissing(
    missing: readonly { name: string; key: string }[],
    context: FlagContext,
    values: Record<string, boolean>,
  ): Promise<FlagValues> {
    const { clock } = this.#parts;
    const answers = missing.map(async ({ name, key }) => {
      values[name] = await this.#ask(name, key, context, values[name] ?? true);
    });
    await new Promise<void>((resolve) => {
      const giveUp = clock.after(FLAG_BOUNDS.budgetMs, resolve);
      void Promise.all(answers).then(() => {
        giveUp.cancel();
        resolve();
      });
    });
    // Late answers are for the next request.
    return { ...values };
  }

  #ask(name: string, key: string, context: FlagContext, otherwise: boolean): Promise<boolean> {
    const pending = this.#pending.get(key);
    if (pending) return pending;
    if (this.#pending.size >= FLAG_BOUNDS.pendingMax) return Promise.resolve(otherwise);
    const generation = this.#generation;
    const asked = this.#evaluate(name, context, otherwise).then((value) => {
      if (generation === this.#generation) {
        this.#pending.delete(key);
        this.#keep(key, value);
      }
      return value;
    });
    this.#pending.set(key, asked);
    return asked;
  }

  async #evaluate(name: string, context: FlagContext, otherwise: boolean): Promise<boolean> {
    const { session, ...rest } = context;
    const attributes = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
    const targetingKey = session ?? context.tenant;
    const details = await this.#client.getBooleanDetails(name, otherwise, { targetingKey, ...attributes });
    if (details.errorCode !== undefined && details.errorCode !== ErrorCode.FLAG_NOT_FOUND)
      this.#tell(name, details.errorMessage ?? details.errorCode);
    return details.value;
  }

  #keep(key: string, value: boolean): void {
    const [oldest] = this.#kept.keys();
    this.#kept.delete(key);
    if (this.#kept.size >= FLAG_BOUNDS.keptMax && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, { value, until: this.#parts.clock.monotonic() + FLAG_BOUNDS.keptMs });
  }

  #tell(flag: string, cause: string): void {
    if (this.#told.has(flag) || this.#told.size >= FLAG_BOUNDS.toldMax) return;
    this.#told.add(flag);
    this.#parts.log.warn("a feature flag cannot be read; it counts as on", { flag, cause });
  }
}
