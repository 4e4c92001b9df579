import type { AwsConfig } from "../../config/snapshot.ts";
import type { Clock } from "../../core/clock.ts";
import { TOKEN_BOUNDS } from "./bounds.ts";
import type { FetchToken } from "./token-cache.ts";

/** What a request to AWS is signed with. */
export interface AwsKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  /** When they end; absent: never. */
  expiration?: Date;
}

/** Finds credentials. Rejects with words that may say too much. */
export type FindKeys = (aws: AwsConfig) => Promise<AwsKeys>;

/**
 * Gets credentials as a token whose value is their JSON: those of the environment, or what AWS's own chain finds (profile, SSO,
 * web identity, container, instance), and with a role those of the role. A cache of tokens keeps them and replaces them ahead.
 */
export function awsCredentials(aws: AwsConfig, clock: Clock, find: FindKeys = findByChain): FetchToken {
  return async () => {
    const keys = await found(aws, find);
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = keys;
    const lifeMs = expiration ? expiration.getTime() - clock.now() : TOKEN_BOUNDS.lifeMsMax;
    if (!(lifeMs > 0)) throw new Error(`the AWS credentials ${whose(aws)} have expired`);
    const value = JSON.stringify({ accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) });
    return { value, lifeMs };
  };
}

/** The keys in a token's value. */
export function keysIn(value: string): AwsKeys {
  return JSON.parse(value) as AwsKeys;
}

async function found(aws: AwsConfig, find: FindKeys): Promise<AwsKeys> {
  if (aws.keys && aws.roleArn === null) return plainKeys(aws.keys);
  try {
    return await find(aws);
  } catch (thrown) {
    // The chain's own message tells all the places it looked at, some with what it found there.
    const { name } = thrown as { name?: unknown };
    const kind = typeof name === "string" && /^[\w.]{1,80}$/.test(name) ? name : "Error";
    throw new Error(`no AWS credentials ${whose(aws)} (${kind})`);
  }
}

function whose({ roleArn, profile, keys }: AwsConfig): string {
  const from = keys ? "of the environment" : profile === null ? "of the credential chain" : `of profile ${profile}`;
  return roleArn === null ? from : `for role ${roleArn} with those ${from}`;
}

/** The SDK's providers are made anew for each look: those that it makes remember what was refused. */
async function findByChain(aws: AwsConfig): Promise<AwsKeys> {
  const { fromNodeProviderChain, fromTemporaryCredentials } = await import("@aws-sdk/credential-providers");
  const { region, profile, roleArn, keys } = aws;
  const clientConfig = { region };
  const chain = fromNodeProviderChain({ clientConfig, ignoreCache: true, ...(profile !== null && { profile }) });
  if (roleArn === null) return chain();
  const masterCredentials = keys ? plainKeys(keys) : chain;
  const params = { RoleArn: roleArn, RoleSessionName: "sluicegate" };
  return fromTemporaryCredentials({ masterCredentials, params, clientConfig })();
}

function plainKeys({ accessKeyId, secretAccessKey, sessionToken }: NonNullable<AwsConfig["keys"]>): AwsKeys {
  const token = sessionToken?.reveal();
  return { accessKeyId, secretAccessKey: secretAccessKey.reveal(), ...(token && { sessionToken: token }) };
}
