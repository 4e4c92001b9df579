import { Sha256 } from "../core/sha256.ts";
import { ask, type Fetch } from "./ask.ts";
import { SECRET_BOUNDS } from "./bounds.ts";
import { SecretFault, type SecretManager } from "./manager.ts";

/** Keys to AWS, as its own SDK has them. */
export interface AwsKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** Where Secrets Manager is and who asks. */
export interface AwsSecretsOptions {
  fetch: Fetch;
  get(name: string): string | undefined;
  /** Who asks, asked anew for each call: keys of a role change by the hour. */
  keys(): Promise<AwsKeys>;
}

const NAME = /^[A-Za-z0-9/_+=.@:-]+$/;
const TARGET = "secretsmanager.GetSecretValue";

/**
 * AWS Secrets Manager: `aws-sm:name#field` is a field of the JSON that the secret `name` (or its ARN) holds, `aws-sm:name`
 * the whole text. What is asked for is always the version AWSCURRENT: AWSPENDING is not yet anybody's, and AWSPREVIOUS is
 * what is still in use here until the new one has been tried.
 */
export function awsSecretsManager({ fetch, get, keys }: AwsSecretsOptions): SecretManager {
  return {
    parse(rest) {
      const [, path, , field] = /^([^#]+)(#([^#]+))?$/.exec(rest) ?? [];
      if (path === undefined || !NAME.test(path) || path.length > SECRET_BOUNDS.nameCharsMax) {
        return { refused: `\`aws-sm:${rest}\` is not aws-sm:name#field, as in aws-sm:prod/llm#anthropic` };
      }
      return { path, field: field ?? null };
    },
    async read(path, signal) {
      const region = regionOf(path, get);
      const endpoint =
        get("AWS_ENDPOINT_URL_SECRETS_MANAGER") ||
        get("AWS_ENDPOINT_URL") ||
        `https://secretsmanager.${region}.amazonaws.com`;
      const who = `secrets manager in ${region}`;
      const body = JSON.stringify({ SecretId: path, VersionStage: "AWSCURRENT" });
      const headers = await signedHeaders(new URL(endpoint), region, body, await keysOf(keys, who));
      const url = `${endpoint.replace(/\/+$/, "")}/`;
      const { status, body: answer } = await ask(fetch, { who, url, method: "POST", headers, body }, signal);
      if (status !== 200) throw refusal(who, path, status, answer);
      return { data: textOf(who, path, answer), lease: null };
    },
  };
}

function regionOf(path: string, get: AwsSecretsOptions["get"]): string {
  const region =
    /^arn:[^:]*:secretsmanager:([^:]+):/.exec(path)?.[1] ?? (get("AWS_REGION") || get("AWS_DEFAULT_REGION"));
  if (region && /^[a-z0-9-]+$/.test(region)) return region;
  throw new SecretFault("missing", "nothing says in which region secrets manager is: set AWS_REGION");
}

async function keysOf(keys: AwsSecretsOptions["keys"], who: string): Promise<AwsKeys> {
  try {
    return await keys();
  } catch {
    // The chain's own message lists every place it looked at, some of them with what it found there.
    throw new SecretFault("denied", `no AWS credentials were found to ask ${who} with`);
  }
}

async function signedHeaders(url: URL, region: string, body: string, keys: AwsKeys): Promise<Record<string, string>> {
  const { SignatureV4 } = await import("@smithy/signature-v4");
  const signer = new SignatureV4({ service: "secretsmanager", region, credentials: keys, sha256: Sha256 });
  const signed = await signer.sign({
    method: "POST",
    protocol: url.protocol,
    hostname: url.hostname,
    ...(url.port !== "" && { port: Number(url.port) }),
    path: "/",
    query: {},
    headers: { host: url.host, "content-type": "application/x-amz-json-1.1", "x-amz-target": TARGET },
    body,
  });
  const { host: _host, ...headers } = signed.headers;
  return headers;
}

/** Its errors are told by `__type`; the status is 400 for most of them. */
function refusal(who: string, path: string, status: number, answer: Record<string, unknown> | null): SecretFault {
  const type = /[^#.]+$/.exec(String(answer?.__type ?? ""))?.[0] ?? "";
  if (type === "ResourceNotFoundException") return new SecretFault("missing", `${who} has no secret ${path}`);
  if (type === "InvalidRequestException") {
    return new SecretFault("missing", `${who} does not give ${path}: it is marked for deletion or has no value`);
  }
  if (/AccessDenied|UnrecognizedClient|InvalidSignature|ExpiredToken|InvalidClientToken|Decryption/.test(type)) {
    return new SecretFault("denied", `${who} refuses ${path} to this gateway (${type})`);
  }
  const isLater = status >= 500 || type === "ThrottlingException" || type === "InternalServiceError";
  return new SecretFault(
    isLater ? "unreachable" : "broken",
    `${who} answered ${status} for ${path} (${type || "no type"})`,
  );
}

function textOf(who: string, path: string, answer: Record<string, unknown> | null): string {
  if (typeof answer?.SecretString === "string") return answer.SecretString;
  if (typeof answer?.SecretBinary === "string") return Buffer.from(answer.SecretBinary, "base64").toString("utf8");
  throw new SecretFault("broken", `${who} answered for ${path} without a value`);
}
