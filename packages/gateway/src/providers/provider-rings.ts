import type { ProviderConfig } from "../config/snapshot.ts";
import { CredentialRing, type RingParts } from "./credential-ring.ts";
import type { Provider } from "./provider.ts";

/** A provider that is wanted: its config, and whose credentials are in it. */
export interface WantedProvider {
  config: ProviderConfig;
  /** Null: the shared ones. */
  tenant: string | null;
}

/** Providers that were built and are not yet used. */
export interface BuiltProviders {
  /** In the order in which they were wanted. */
  providers: readonly Provider[];
  /** Makes them those that are used: what is new in them is tried, what is not among them ends. */
  commit(): void;
}

interface Step {
  key: string;
  address: string;
  ring: CredentialRing;
  provider: Provider;
  isNew: boolean;
  offer: (() => void) | null;
}

/** One ring a provider, and one a tenant with credentials of its own; they outlive the config snapshots. */
export class ProviderRings {
  readonly #parts: RingParts;
  readonly #rings = new Map<string, { ring: CredentialRing; address: string }>();

  constructor(parts: RingParts) {
    this.#parts = parts;
  }

  /** Builds all that a snapshot wants. Throws, and has changed nothing, when one of them cannot be built. */
  build(wanted: readonly WantedProvider[]): BuiltProviders {
    const steps: Step[] = [];
    try {
      for (const one of wanted) steps.push(this.#step(one));
    } catch (error) {
      for (const { provider } of steps) provider.authenticator.close();
      throw error;
    }
    return { providers: steps.map(({ ring }) => ring), commit: () => this.#commit(steps) };
  }

  /** False while a provider has refused the newest credential that is known for it. */
  get whole(): boolean {
    return [...this.#rings.values()].every(({ ring }) => ring.whole);
  }

  close(): void {
    for (const { ring } of this.#rings.values()) ring.close();
    this.#rings.clear();
  }

  #step({ config, tenant }: WantedProvider): Step {
    const key = keyOf(config, tenant);
    const address = addressOf(config);
    const known = this.#rings.get(key);
    const provider = this.#parts.build(config);
    if (known && known.address === address) {
      const { ring } = known;
      return { key, address, ring, provider, isNew: false, offer: () => ring.offer(provider) };
    }
    // Elsewhere, what was known of the old credential says nothing; only the numbers go on.
    const ring = new CredentialRing(this.#parts, provider, tenant, (known?.ring.lastGeneration ?? 0) + 1);
    return { key, address, ring, provider, isNew: true, offer: null };
  }

  #commit(steps: readonly Step[]): void {
    const kept = new Set<string>();
    for (const { key, address, ring, isNew, offer } of steps) {
      kept.add(key);
      const before = this.#rings.get(key);
      if (isNew) before?.ring.close();
      this.#rings.set(key, { ring, address });
      offer?.();
    }
    for (const [key, { ring }] of this.#rings) {
      if (kept.has(key)) continue;
      ring.close();
      this.#rings.delete(key);
    }
  }
}

function keyOf({ name }: ProviderConfig, tenant: string | null): string {
  return tenant === null ? name : `${name}\n${tenant}`;
}

/** What makes it the same provider, whatever it is called with: who is asked, and in which language. */
function addressOf({ kind, preset, baseUrl }: ProviderConfig): string {
  return JSON.stringify([kind, preset, baseUrl]);
}
