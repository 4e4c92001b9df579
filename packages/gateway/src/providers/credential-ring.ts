import type { CredentialUse } from "@sluicegate/contract";
import type { ProviderConfig } from "../config/snapshot.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { Random } from "../core/random.ts";
import type { Secret } from "../core/secret.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Authenticator } from "./authenticator.ts";
import { Generation, secretsFingerprint } from "./generation.ts";
import type { Prepared, Provider, Wanted } from "./provider.ts";

/** What came of trying a credential: the provider takes it, refuses it, or could not be asked. */
export type Verdict = "accepted" | "refused" | "unclear";

/** Something that happened to a provider's credential. Holds no secret. */
export interface CredentialEvent {
  kind: "rotated" | "refused";
  provider: string;
  /** Whose it is: null for the shared one. */
  tenant: string | null;
  /** The new generation: in use now, or refused and not. */
  generation: number;
}

/** What rings need of the rest of the gateway. */
export interface RingParts {
  clock: Clock;
  random: Random;
  build(config: ProviderConfig): Provider;
  /** Makes a real, cheap call. */
  tryOut(provider: Provider, tenant: string | null): Promise<Verdict>;
  /** Reads what the secrets come from anew; whatever is new has been offered when it resolves. */
  refetch(config: ProviderConfig): Promise<void>;
  told(event: CredentialEvent): void;
}

/** After a look for a newer credential that found none, the next one waits, ms: doubling from the first to the last. */
const SEEK_FIRST_MS = 1_000;
const SEEK_LAST_MS = 10_000;
/** A refused generation counts as refused for this long. */
const REFUSED_MS = 60_000;
/** When a new credential is tried again, ms: doubling from the first to the last. */
const UNCLEAR_FIRST_MS = 1_000;
const UNCLEAR_LAST_MS = 60_000;
const REFUSED_AGAIN_MS = 30_000;
const REFUSED_LAST_MS = 300_000;
/** Secrets of generations that are gone, kept so that no late text of a provider's shows one. */
const PAST_SECRETS_MAX = 64;

/**
 * A provider whose credentials change while it is called. A new generation is tried before it is used; until then, and when
 * it is refused, the old one serves. The old one ends with the last of its calls.
 */
export class CredentialRing implements Provider {
  readonly authenticator: Authenticator;
  readonly protocolsOf?: (model: string) => readonly Protocol[];
  readonly #parts: RingParts;
  readonly #tenant: string | null;
  #current: Generation;
  #last: number;
  #candidate: Generation | null = null;
  #candidateRefused = false;
  #trial: Promise<void> = Promise.resolve();
  #trials = 0;
  #timer: Timer | null = null;
  #renewal: Promise<boolean> | null = null;
  /** Nobody is asked for a newer credential before (monotonic ms), after so many looks in vain. */
  #seekAt = 0;
  #seeks = 0;
  #past: Secret[] = [];
  #closed = false;

  constructor(parts: RingParts, provider: Provider, tenant: string | null, generation: number) {
    this.#parts = parts;
    this.#tenant = tenant;
    this.#last = generation;
    this.#current = new Generation(generation, provider, this.#owner);
    if (provider.protocolsOf) {
      this.protocolsOf = (model) => this.#current.provider.protocolsOf?.(model) ?? this.protocols;
    }
    const currentUse = (): CredentialUse | null => this.#currentUse();
    this.authenticator = {
      get current() {
        return currentUse();
      },
      authenticate: (request) => this.#current.provider.authenticator.authenticate(request),
      refused: (use, answeredAt) => this.#refused(use, answeredAt),
      close: () => this.close(),
    };
  }

  get config(): ProviderConfig {
    return this.#current.provider.config;
  }

  get quirks(): Provider["quirks"] {
    return this.#current.provider.quirks;
  }

  get protocols(): Provider["protocols"] {
    return this.#current.provider.protocols;
  }

  get onlyNamed(): readonly Protocol[] {
    return this.#current.provider.onlyNamed ?? [];
  }

  /** The number of the newest generation, tried or not. */
  get lastGeneration(): number {
    return this.#last;
  }

  /** False while a newer credential than the one in use is known and refused. */
  get whole(): boolean {
    return !this.#candidateRefused;
  }

  /** Every credential that a text of the provider's might quote. */
  get secrets(): readonly Secret[] {
    return [...this.#current.secrets, ...(this.#candidate?.secrets ?? []), ...this.#past];
  }

  request(wanted: Wanted): Prepared {
    return this.#current.request(wanted);
  }

  /** Takes up the same provider of another config. With other secrets in it, that is a generation to be tried first. */
  offer(provider: Provider): void {
    const fingerprint = secretsFingerprint(provider.config);
    if (fingerprint === this.#current.fingerprint) {
      this.#forgetCandidate();
      // Nothing is different: what has been learned of tokens stays too.
      if (JSON.stringify(provider.config) === JSON.stringify(this.config)) return provider.authenticator.close();
      this.#replace(new Generation(this.#current.number, provider, this.#owner));
      return;
    }
    if (this.#candidate?.fingerprint === fingerprint) {
      provider.authenticator.close();
      return;
    }
    this.#forgetCandidate();
    this.#last++;
    this.#candidate = new Generation(this.#last, provider, this.#owner);
    this.#trials = 0;
    this.#try(this.#candidate);
  }

  /** Ends what it does on its own. Calls that are still on their way, and their repeats, go on. */
  close(): void {
    this.#closed = true;
    this.#forgetCandidate();
    this.#current.drop();
  }

  get #owner(): CredentialUse["owner"] {
    return this.#tenant === null ? "shared" : "tenant";
  }

  #currentUse(): CredentialUse | null {
    return this.#current.provider.authenticator.current === null ? null : this.#current.use;
  }

  #try(candidate: Generation): void {
    this.#trials++;
    this.#trial = this.#parts.tryOut(candidate.counted(), this.#tenant).then(
      (verdict) => this.#judge(candidate, verdict),
      () => this.#judge(candidate, "unclear"),
    );
  }

  #judge(candidate: Generation, verdict: Verdict): void {
    if (candidate !== this.#candidate || this.#closed) return;
    // A provider that cannot be asked says nothing against the new one, and it has refused the old one.
    if (verdict === "accepted" || (verdict === "unclear" && this.#isRefused(this.#current))) {
      this.#cutOver(candidate);
      return;
    }
    if (verdict === "refused" && !this.#candidateRefused) {
      this.#candidateRefused = true;
      this.#tell("refused", candidate);
    }
    this.#tryLater(candidate, verdict === "refused");
  }

  /** A key may take a minute to be known everywhere at its vendor's. */
  #tryLater(candidate: Generation, refused: boolean): void {
    const [first, last] = refused ? [REFUSED_AGAIN_MS, REFUSED_LAST_MS] : [UNCLEAR_FIRST_MS, UNCLEAR_LAST_MS];
    const waitMs = Math.min(last, first * 2 ** (this.#trials - 1)) * (0.5 + this.#parts.random.float() / 2);
    this.#timer?.cancel();
    this.#timer = this.#parts.clock.after(waitMs, () => {
      if (candidate === this.#candidate) this.#try(candidate);
    });
  }

  #cutOver(candidate: Generation): void {
    this.#candidate = null;
    this.#candidateRefused = false;
    this.#seekAt = 0;
    this.#seeks = 0;
    this.#timer?.cancel();
    this.#replace(candidate);
    this.#tell("rotated", candidate);
  }

  /** The old one ends when the calls that use it have. */
  #replace(next: Generation): void {
    const old = this.#current;
    this.#current = next;
    this.#remember(old);
    old.drop();
  }

  #forgetCandidate(): void {
    this.#timer?.cancel();
    this.#candidateRefused = false;
    if (!this.#candidate) return;
    this.#remember(this.#candidate);
    this.#candidate.drop();
    this.#candidate = null;
  }

  #remember({ secrets, fingerprint }: Generation): void {
    if (fingerprint === this.#current.fingerprint) return;
    this.#past = [...secrets, ...this.#past].slice(0, PAST_SECRETS_MAX);
  }

  #isRefused({ refusedAt }: Generation): boolean {
    return refusedAt !== null && this.#parts.clock.monotonic() - refusedAt < REFUSED_MS;
  }

  /** A call was refused: is there, or can there be found, another credential that it may be made with again? */
  async #refused(use: CredentialUse, answeredAt?: number): Promise<boolean> {
    const { number } = this.#current;
    if (use.generation !== number) return use.generation < number;
    this.#current.refusedAt = this.#parts.clock.monotonic();
    if (await this.#fallForward()) return true;
    if (this.#current.number !== number) return true;
    // A token that is made from a credential may be out of date while that is not.
    if (await this.#current.refused(use, answeredAt)) return true;
    this.#renewal ??= this.#renew(this.#current).finally(() => {
      this.#renewal = null;
    });
    return this.#renewal;
  }

  async #renew(refused: Generation): Promise<boolean> {
    const now = this.#parts.clock.monotonic();
    if (now < this.#seekAt) return false;
    await this.#parts.refetch(refused.provider.config).catch(() => {});
    await this.#fallForward();
    if (this.#current.number > refused.number) return true;
    this.#seekAt = this.#parts.clock.monotonic() + Math.min(SEEK_LAST_MS, SEEK_FIRST_MS * 2 ** this.#seeks++);
    return false;
  }

  /** The credential in use was refused: one that is being tried is waited for, and one that cannot be tried is used. */
  async #fallForward(): Promise<boolean> {
    const candidate = this.#candidate;
    if (!candidate || this.#candidateRefused) return false;
    await this.#trial;
    if (candidate === this.#candidate && !this.#candidateRefused) this.#cutOver(candidate);
    return this.#current === candidate;
  }

  #tell(kind: CredentialEvent["kind"], { number, use }: Generation): void {
    this.#parts.told({ kind, provider: use.name, tenant: this.#tenant, generation: number });
  }
}
