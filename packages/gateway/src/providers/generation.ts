import { hash } from "node:crypto";
import type { CredentialUse } from "@sluicegate/contract";
import type { ProviderConfig } from "../config/snapshot.ts";
import { type Secret, secretsIn } from "../core/secret.ts";
import type { Prepared, Provider, Wanted } from "./provider.ts";

/** One generation of a provider's credentials, with the provider that was built on it. */
export class Generation {
  readonly number: number;
  readonly provider: Provider;
  readonly use: CredentialUse;
  /** The same for the same secrets. In memory only. */
  readonly fingerprint: string;
  /** When a call that used it was last refused, monotonic ms. */
  refusedAt: number | null = null;
  /** The authenticator's own words behind those of the last use: tokens come and go within a generation. */
  readonly #inner = new WeakMap<CredentialUse, CredentialUse>();
  #lastInner: CredentialUse | null = null;
  #lastUse: CredentialUse;
  #calls = 0;
  #dropped = false;

  constructor(number: number, provider: Provider, owner: CredentialUse["owner"]) {
    this.number = number;
    this.provider = provider;
    this.use = { name: provider.config.name, generation: number, owner };
    this.#lastUse = this.use;
    this.fingerprint = secretsFingerprint(provider.config);
  }

  /** Its calls that are not over. */
  get calls(): number {
    return this.#calls;
  }

  /** What must not be shown to anybody. */
  get secrets(): readonly Secret[] {
    return secretsIn(this.provider.config);
  }

  /** The provider with its calls counted, and named after this generation. */
  counted(): Provider {
    return { ...this.provider, request: (wanted) => this.request(wanted) };
  }

  /** A call of this generation, counted until it is over. */
  request(wanted: Wanted): Prepared {
    const prepared = this.provider.request(wanted);
    this.#calls++;
    let isOver = false;
    // Every member by its name: what is made by spreading and adding has another hidden class each time.
    return {
      request: prepared.request,
      credential: this.#named(prepared.credential),
      dropped: prepared.dropped,
      over: () => {
        if (isOver) return;
        isOver = true;
        this.#calls--;
        this.#closeWhenIdle();
      },
    };
  }

  /** Its authenticator hears of a refusal. True: it has, or gets, something else to show. */
  async refused(use: CredentialUse, answeredAt?: number): Promise<boolean> {
    const inner = this.#inner.get(use);
    return inner !== undefined && (await this.provider.authenticator.refused(inner, answeredAt)) === true;
  }

  /** No new call uses it: it ends with the last of those that do. */
  drop(): void {
    this.#dropped = true;
    this.#closeWhenIdle();
  }

  /** What a call proved itself with, in the words of the ring: known when the credential is. */
  #named(credential: Prepared["credential"]): Prepared["credential"] {
    if (credential.use !== null) return { use: this.#useFor(credential.use) };
    const useFor = (inner: CredentialUse): CredentialUse => this.#useFor(inner);
    return {
      get use() {
        return credential.use === null ? null : useFor(credential.use);
      },
    };
  }

  #useFor(inner: CredentialUse): CredentialUse {
    if (inner !== this.#lastInner) {
      this.#lastInner = inner;
      this.#lastUse = { ...this.use };
      this.#inner.set(this.#lastUse, inner);
    }
    return this.#lastUse;
  }

  #closeWhenIdle(): void {
    if (this.#dropped && this.#calls === 0) this.provider.authenticator.close();
  }
}

/** A short name of a config's secrets: another one as soon as any of them changes. */
export function secretsFingerprint(config: ProviderConfig): string {
  return hash("sha256", JSON.stringify(secretsIn(config).map((secret) => secret.reveal())));
}
