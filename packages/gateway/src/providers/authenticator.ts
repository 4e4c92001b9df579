import type { CredentialUse } from "@sluicegate/contract";
import type { ProviderConfig } from "../config/snapshot.ts";
import type { Bytes } from "../core/pieces.ts";

/** A request that nobody has signed yet. Header names are lower case. */
export interface Unsigned {
  method: string;
  /** `https://host:port`. */
  origin: string;
  /** With its query. */
  path: string;
  /** Flat: name, value, name, value. */
  headers: readonly string[];
  body: Bytes | null;
}

/** What proves who calls. */
export interface Authenticated {
  /** To be added to the request, flat. */
  headers: readonly string[];
  /** What the attempt's row says of it; null for servers that want none. */
  use: CredentialUse | null;
}

/** Puts the credential of one provider on its calls. Lives as long as the config snapshot that made it. */
export interface Authenticator {
  /**
   * At once where the credential is at hand; a promise where a token has to be fetched first or the request is signed
   * elsewhere. A rejection fails the attempt as auth_failed, and its message, which holds no secret, goes to the log.
   */
  authenticate(request: Unsigned): Authenticated | Promise<Authenticated>;
  /** What calls prove themselves with now; null before the first, and for servers that want nothing. */
  readonly current: CredentialUse | null;
  /**
   * The provider has refused this credential: whoever can looks for a newer one at once. True: there is one, or a fresh
   * token, and the call that was refused may be made again with it. `answeredAt`: when, by the provider's own clock (epoch ms,
   * NaN where it did not say): a signature may have been too old, or not yet due.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most credentials have no more to say than that they are told.
  refused(use: CredentialUse, answeredAt?: number): void | boolean | Promise<boolean>;
  close(): void;
}

/** A key that does not change, in a header of its own. */
export function fixedKey(config: ProviderConfig, defaultAuth: { header: string; prefix: string }): Authenticator {
  const { apiKey, name } = config;
  const auth = config.auth ?? defaultAuth;
  const answer: Authenticated = apiKey
    ? {
        headers: [auth.header.toLowerCase(), auth.prefix + apiKey.reveal()],
        use: { name, generation: 1, owner: "shared" },
      }
    : { headers: [], use: null };
  return { current: answer.use, authenticate: () => answer, refused: () => {}, close: () => {} };
}
