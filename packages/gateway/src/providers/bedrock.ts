import type { AwsConfig, ProviderConfig } from "../config/snapshot.ts";
import { bedrockConverse } from "../protocols/bedrock-converse/index.ts";
import { bedrockEmbeddings } from "../protocols/bedrock-embeddings/index.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { awsAuthenticator } from "./auth/aws-authenticator.ts";
import { awsCredentials } from "./auth/aws-credentials.ts";
import type { Authenticator } from "./authenticator.ts";
import type { ProviderMeans } from "./means.ts";
import { jsonProvider, type Provider } from "./provider.ts";

const CHAT: readonly Protocol[] = [bedrockConverse];
const EMBED: readonly Protocol[] = [bedrockEmbeddings];
const SERVICE = "bedrock";

/**
 * Amazon Bedrock (WIRE B5): every vendor's models behind Converse, embeddings behind InvokeModel. With an API key as a bearer
 * token, otherwise signed with the credentials that AWS's own libraries would find.
 */
export function bedrock(config: ProviderConfig, means: ProviderMeans): Provider {
  if (!config.aws || config.baseUrl === null) throw new Error(`provider ${config.name}: no region`);
  const hasKey = config.apiKey !== null || "authorization" in config.headers;
  return jsonProvider({
    config,
    baseUrl: config.baseUrl,
    quirks: { maxTokensField: null, streamOptions: false, reasoningInOutput: true },
    protocols: [...CHAT, ...EMBED],
    protocolsOf: (model) => (/embed/i.test(model) ? EMBED : CHAT),
    ...(!hasKey && { authenticator: signer(config.name, config.aws, means) }),
  });
}

function signer(name: string, aws: AwsConfig, { tokens, clock }: ProviderMeans): Authenticator {
  const { region, roleArn, profile, keys } = aws;
  const own = keys ? [keys.accessKeyId, keys.secretAccessKey.reveal(), keys.sessionToken?.reveal() ?? null] : [];
  const settings = ["aws", region, roleArn, profile, ...own];
  const borrowed = tokens.borrow(settings, awsCredentials(aws, clock));
  return awsAuthenticator(name, borrowed, { region, service: SERVICE }, clock);
}
