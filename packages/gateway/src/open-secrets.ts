import { readFile } from "node:fs/promises";
import type { Environment } from "./config/env.ts";
import type { GoogleAuthConfig } from "./config/snapshot.ts";
import type { Clock } from "./core/clock.ts";
import type { Random } from "./core/random.ts";
import { Secret } from "./core/secret.ts";
import { googleToken } from "./providers/auth/google-token.ts";
import { TokenCache } from "./providers/auth/token-cache.ts";
import { type AwsKeys, awsSecretsManager } from "./secrets/aws-secrets-manager.ts";
import { gcpSecretManager } from "./secrets/gcp-secret-manager.ts";
import { SecretKeeper } from "./secrets/secret-keeper.ts";
import { vault } from "./secrets/vault.ts";

/** What the secret managers are asked with. */
export interface SecretsOptions {
  environment: Environment;
  clock: Clock;
  random: Random;
  /** A value has changed. Resolves when whoever uses it has taken it up. */
  changed?: () => Promise<void>;
  /** A manager stops giving what is wanted of it, or gives it again (`fault` null). */
  told?: (document: string, fault: string | null) => void;
}

const METADATA_HOST = "169.254.169.254";
const METADATA_PATH = "/computeMetadata/v1/instance/service-accounts/default/token";
const GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token";

/** The managers that references may name. Nothing is asked before something refers to one. */
export function openSecrets(options: SecretsOptions): SecretKeeper {
  const { environment, clock, random, changed = async () => {}, told = () => {} } = options;
  const get = (name: string): string | undefined => environment.get(name) || undefined;
  return new SecretKeeper({
    ...{ clock, random, changed, told },
    managers: {
      vault: vault({ fetch, clock, get }),
      "aws-sm": awsSecretsManager({ fetch, get, keys: awsKeys(get) }),
      "gcp-sm": gcpSecretManager({ fetch, get, token: googleTokens(get, clock) }),
    },
  });
}

/** Keys in variables (`.env` counts), else what AWS's own chain finds: profiles, web identity, containers, the machine. */
function awsKeys(get: (name: string) => string | undefined): () => Promise<AwsKeys> {
  let chain: Promise<() => Promise<AwsKeys>> | null = null;
  return async () => {
    const accessKeyId = get("AWS_ACCESS_KEY_ID");
    const secretAccessKey = get("AWS_SECRET_ACCESS_KEY");
    const sessionToken = get("AWS_SESSION_TOKEN");
    if (accessKeyId && secretAccessKey) return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
    chain ??= import("@aws-sdk/credential-providers").then(({ fromNodeProviderChain }) => fromNodeProviderChain());
    return (await chain)();
  };
}

/** Tokens of the service account in GOOGLE_APPLICATION_CREDENTIALS, else of the machine. */
function googleTokens(get: (name: string) => string | undefined, clock: Clock): () => Promise<string> {
  let tokens: TokenCache | null = null;
  return async () => {
    if (!tokens) {
      const auth = await googleAuth(get);
      tokens = new TokenCache(clock, googleToken(auth, askDirectly, clock));
    }
    return (await tokens.take()).value;
  };
}

async function googleAuth(get: (name: string) => string | undefined): Promise<GoogleAuthConfig> {
  const file = get("GOOGLE_APPLICATION_CREDENTIALS");
  if (file === undefined) {
    const host = get("GCE_METADATA_HOST") ?? METADATA_HOST;
    return { flow: "metadata", url: `http://${host.replace(/^https?:\/\//, "")}${METADATA_PATH}` };
  }
  const { type, client_email: email, private_key: key, private_key_id: keyId, token_uri: uri } = await accountIn(file);
  if (type !== "service_account" || typeof email !== "string" || typeof key !== "string") {
    throw new Error(`GOOGLE_APPLICATION_CREDENTIALS, ${file}, is no key of a service account`);
  }
  return {
    ...{ flow: "service_account", email, key: new Secret(key, `file:${file}`), proxy: null },
    tokenUrl: typeof uri === "string" ? uri : GOOGLE_TOKEN_URL,
    keyId: typeof keyId === "string" ? keyId : null,
  };
}

async function accountIn(file: string): Promise<Record<string, unknown>> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  } catch {
    throw new Error(`GOOGLE_APPLICATION_CREDENTIALS, ${file}, cannot be read as JSON`);
  }
}

/** The platform's own HTTP: secrets are wanted before there is a gateway whose connections could be used. */
async function askDirectly(question: Parameters<Parameters<typeof googleToken>[1]>[0]) {
  const { url, method, headers, body } = question;
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) pairs.push([headers[i] ?? "", headers[i + 1] ?? ""]);
  const signal = AbortSignal.timeout(5_000);
  const { origin } = new URL(url);
  const response = await fetch(url, { method, headers: pairs, body, signal, redirect: "manual" }).catch(() => {
    throw new Error(`${origin} did not answer`);
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: Object.fromEntries(response.headers), body: bytes };
}
