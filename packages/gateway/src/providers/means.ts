import type { Clock } from "../core/clock.ts";
import type { Transport } from "../core/transport.ts";
import { type Ask, askThrough } from "./auth/ask.ts";
import { TokenShelf } from "./auth/token-shelf.ts";

/** What providers are built with, besides their config. Lives as long as the gateway, whatever is reloaded. */
export interface ProviderMeans {
  clock: Clock;
  tokens: TokenShelf;
  /** The way to whoever gives tokens to the provider of this name. */
  ask(provider: string): Ask;
}

/** The connections on which a provider's tokens are fetched. */
export function tokenPool(provider: string): string {
  return `${provider}:token`;
}

/** Those of a running gateway. */
export function providerMeans(clock: Clock, transport: Transport): ProviderMeans {
  return {
    clock,
    tokens: new TokenShelf(clock),
    ask: (provider) => askThrough(transport, clock, tokenPool(provider)),
  };
}
