import { ask, type Fetch, faultOf } from "./ask.ts";
import { SECRET_BOUNDS } from "./bounds.ts";
import { SecretFault, type SecretManager } from "./manager.ts";

/** Where Secret Manager is and who asks. */
export interface GcpSecretsOptions {
  fetch: Fetch;
  get(name: string): string | undefined;
  /** An access token, as it goes behind `Bearer`. Rejects with words that hold no secret. */
  token(): Promise<string>;
}

const RESOURCE =
  /^projects\/[A-Za-z0-9:._-]+(?:\/locations\/[a-z0-9-]+)?\/secrets\/[A-Za-z0-9_-]+(\/versions\/[A-Za-z0-9_-]+)?$/;

/** GCP Secret Manager: `gcp-sm:projects/p/secrets/s` is its latest version, `…/versions/7` that one. */
export function gcpSecretManager({ fetch, get, token }: GcpSecretsOptions): SecretManager {
  return {
    parse(rest) {
      const match = RESOURCE.exec(rest);
      if (!match || rest.length > SECRET_BOUNDS.nameCharsMax) {
        const example = "gcp-sm:projects/p/secrets/llm/versions/latest";
        return { refused: `\`gcp-sm:${rest}\` is not the name of a secret, as in ${example}` };
      }
      return { path: match[1] === undefined ? `${rest}/versions/latest` : rest, field: null };
    },
    async read(path, signal) {
      const location = /\/locations\/([^/]+)\//.exec(path)?.[1];
      const host = location === undefined ? "secretmanager" : `secretmanager.${location}.rep`;
      const endpoint = get("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER") || `https://${host}.googleapis.com`;
      const who = "GCP secret manager";
      const url = `${endpoint.replace(/\/+$/, "")}/v1/${path}:access`;
      const headers = { authorization: `Bearer ${await tokenOf(token, who)}` };
      const { status, body } = await ask(fetch, { who, url, method: "GET", headers }, signal);
      if (status !== 200) throw faultOf(who, path, status);
      return { data: payloadOf(who, path, body), lease: null };
    },
  };
}

async function tokenOf(token: GcpSecretsOptions["token"], who: string): Promise<string> {
  try {
    return await token();
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new SecretFault("denied", `no Google token to ask ${who} with: ${why}`);
  }
}

function payloadOf(who: string, path: string, body: Record<string, unknown> | null): string {
  const { data } = (body?.payload ?? {}) as { data?: unknown };
  if (typeof data !== "string" || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(data)) {
    throw new SecretFault("broken", `${who} answered for ${path} without a payload`);
  }
  return Buffer.from(data, "base64").toString("utf8");
}
