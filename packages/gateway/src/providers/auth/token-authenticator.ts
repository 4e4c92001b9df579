import type { CredentialUse } from "@sluicegate/contract";
import type { Authenticated, Authenticator } from "../authenticator.ts";
import type { HeldToken } from "./token-cache.ts";
import type { Borrowed } from "./token-shelf.ts";

/** A bearer token that is fetched, and fetched anew. Each is a generation of the provider's credential. */
export function tokenAuthenticator(name: string, { tokens, release }: Borrowed): Authenticator {
  let last: { serial: number; answer: Authenticated } | null = null;
  const useOf = (serial: number): CredentialUse => ({ name, generation: serial, owner: "shared" });
  const answerOf = ({ serial, value }: HeldToken): Authenticated => {
    if (last?.serial !== serial) {
      last = { serial, answer: { headers: ["authorization", `Bearer ${value}`], use: useOf(serial) } };
    }
    return last.answer;
  };
  return {
    get current() {
      return tokens.current && useOf(tokens.current.serial);
    },
    authenticate() {
      const token = tokens.take();
      return token instanceof Promise ? token.then(answerOf) : answerOf(token);
    },
    refused: (use) => tokens.refused(use.generation),
    close: release,
  };
}
