import type { Environment } from "./env.ts";

/** The region a provider names, or that of the environment; undefined: none. */
export function awsRegion(
  input: { region?: string | undefined },
  environment: Pick<Environment, "get">,
): string | undefined {
  return input.region ?? (environment.get("AWS_REGION") || environment.get("AWS_DEFAULT_REGION") || undefined);
}

/** Where Bedrock's models of a region are called. China has a domain of its own. */
export function bedrockUrl(region: string): string {
  return `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}
