import { readFile } from "node:fs/promises";
import type { EntraConfig } from "../../config/snapshot.ts";
import type { Clock } from "../../core/clock.ts";
import type { Ask } from "./ask.ts";
import { TOKEN_BOUNDS } from "./bounds.ts";
import { tokenIn } from "./oauth-answer.ts";
import type { FetchToken } from "./token-cache.ts";

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const FORM = ["content-type", "application/x-www-form-urlencoded"] as const;

/** Gets Entra ID tokens: by the client's secret, by the federated token of a workload, or from the machine's own endpoint. */
export function entraToken(entra: EntraConfig, ask: Ask, clock: Clock): FetchToken {
  switch (entra.flow) {
    case "managed":
      return fromMachine(entra, ask, clock);
    case "workload":
      // The file is written anew by the hour.
      return async () => {
        const assertion = await federatedToken(entra.tokenFile);
        const proof = { client_assertion_type: ASSERTION_TYPE, client_assertion: assertion };
        return grant(entra, proof, assertion, ask, clock);
      };
    case "secret": {
      const secret = entra.clientSecret.reveal();
      return () => grant(entra, { client_secret: secret }, secret, ask, clock);
    }
  }
}

type Client = Extract<EntraConfig, { tokenUrl: string }>;

/** The client credentials grant. */
async function grant(
  { tokenUrl: url, clientId, scope, proxy }: Client,
  proof: Record<string, string>,
  secret: string,
  ask: Ask,
  clock: Clock,
): ReturnType<FetchToken> {
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id: clientId, scope, ...proof });
  const answer = await ask({ url, method: "POST", headers: FORM, body: form.toString(), proxy });
  return tokenIn(answer, url, clock.now(), [secret, encodeURIComponent(secret)]);
}

async function federatedToken(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).slice(0, TOKEN_BOUNDS.tokenCharsMax).trim();
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code ?? "unreadable";
    throw new Error(`the workload's token in ${file} (AZURE_FEDERATED_TOKEN_FILE) cannot be read (${code})`);
  }
}

type Machine = Extract<EntraConfig, { flow: "managed" }>;

function fromMachine({ url: base, clientId, header, resource }: Machine, ask: Ask, clock: Clock): FetchToken {
  const url = new URL(base);
  url.searchParams.set("resource", resource);
  if (clientId !== null) url.searchParams.set("client_id", clientId);
  const headers = header === null ? ["metadata", "true"] : ["x-identity-header", header.reveal()];
  return async () => {
    const answer = await ask({ url: url.href, method: "GET", headers, body: null, proxy: null });
    return tokenIn(answer, base, clock.now(), header === null ? [] : [header.reveal()]);
  };
}
