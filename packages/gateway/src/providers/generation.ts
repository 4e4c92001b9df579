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
  #calls = 0;
  #dropped = false;

  constructor(number: number, provider: Provider, owner: CredentialUse["owner"]) {
    this.number = number;
    this.provider = provider;
    this.use = { name: provider.config.name, generation: number, owner };
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

  /** A call of this generation, counted until it is over. */
  request(wanted: Wanted): Prepared {
    const prepared = this.provider.request(wanted);
    this.#calls++;
    let isOver = false;
    return {
      ...prepared,
      credential: named(prepared.credential, this.use),
      over: () => {
        if (isOver) return;
        isOver = true;
        this.#calls--;
        this.#closeWhenIdle();
      },
    };
  }

  /** No new call uses it: it ends with the last of those that do. */
  drop(): void {
    this.#dropped = true;
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (this.#dropped && this.#calls === 0) this.provider.authenticator.close();
  }
}

/** A short name of a config's secrets: another one as soon as any of them changes. */
export function secretsFingerprint(config: ProviderConfig): string {
  return hash("sha256", JSON.stringify(secretsIn(config).map((secret) => secret.reveal())));
}

/** What the call proved itself with, in the words of the ring: known when the credential is. */
function named(inner: Prepared["credential"], use: CredentialUse): Prepared["credential"] {
  if (inner.use !== null) return { use };
  return {
    get use() {
      return inner.use === null ? null : use;
    },
  };
}
