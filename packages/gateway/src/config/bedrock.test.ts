import { describe, expect, test } from "vitest";
import type { ProviderConfig } from "./snapshot.ts";
import { type BadConfig, provider, testRefused } from "./test/expect-refused.ts";
import { lines, loadText } from "./test/load-text.ts";

const variables = { KEY: "bedrock-key" };
const ROLE = "arn:aws:iam::123456789012:role/gateway";

async function loaded(text: string, more: Record<string, string> = {}): Promise<ProviderConfig> {
  const result = await loadText(provider(`x: ${text}`), { variables: { ...variables, ...more } });
  expect(lines(result)).toEqual([]);
  const found = result.snapshot?.providers.get("x");
  if (!found) throw new Error("no provider x");
  return found;
}

describe("bedrock", () => {
  test("is called in its region, as whoever AWS's chain finds", async () => {
    const config = await loaded("{ kind: bedrock, region: eu-central-1 }");
    expect(config.baseUrl).toBe("https://bedrock-runtime.eu-central-1.amazonaws.com");
    expect(config.aws).toEqual({ region: "eu-central-1", roleArn: null, profile: null, keys: null });
  });

  test.each([
    ["{ kind: bedrock }", "us-west-2", "https://bedrock-runtime.us-west-2.amazonaws.com"],
    ["{ kind: bedrock, region: us-east-1 }", "us-east-1", "https://bedrock-runtime.us-east-1.amazonaws.com"],
    ["{ kind: bedrock, region: cn-north-1 }", "cn-north-1", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"],
    [
      "{ kind: bedrock, region: us-gov-west-1 }",
      "us-gov-west-1",
      "https://bedrock-runtime.us-gov-west-1.amazonaws.com",
    ],
    ["{ kind: bedrock, base_url: 'http://127.0.0.1:9' }", "us-west-2", "http://127.0.0.1:9"],
  ])("%s is in %s, at %s", async (text, region, url) => {
    const config = await loaded(text, { AWS_REGION: "us-west-2" });
    expect([config.aws?.region, config.baseUrl]).toEqual([region, url]);
  });

  test("goes through the environment's proxy", async () => {
    expect((await loaded("{ kind: bedrock, region: us-east-1 }", { HTTPS_PROXY: "http://proxy:3128" })).proxy).toBe(
      "http://proxy:3128",
    );
  });

  test("has a role, a profile, or keys of the environment, which nobody gets to see", async () => {
    const keys = { AWS_ACCESS_KEY_ID: "AKID", AWS_SECRET_ACCESS_KEY: "hidden", AWS_SESSION_TOKEN: "veiled" };
    const config = await loaded(`{ kind: bedrock, region: us-east-1, role_arn: '${ROLE}' }`, keys);
    expect(config.aws).toMatchObject({ roleArn: ROLE, profile: null, keys: { accessKeyId: "AKID" } });
    expect(config.aws?.keys?.sessionToken?.reveal()).toBe("veiled");
    expect(JSON.stringify(config)).not.toMatch(/hidden|veiled/);
    const named = await loaded("{ kind: bedrock, region: us-east-1, profile: bank }", keys);
    expect(named.aws).toMatchObject({ profile: "bank", keys: null });
  });

  test("shows an API key, anywhere", async () => {
    const config = await loaded("{ kind: bedrock, base_url: 'https://gateway.example.com', api_key: env:KEY }");
    expect([config.apiKey?.reveal(), config.aws?.region]).toEqual(["bedrock-key", ""]);
  });
});

const refused: BadConfig[] = [
  ["no region", provider("▸x: { kind: bedrock }"), "providers.x", "`region` is missing"],
  [
    "no region to sign for",
    provider("▸x: { kind: bedrock, base_url: 'http://127.0.0.1:9' }"),
    "providers.x",
    "`region` is missing",
  ],
  [
    "no region's name",
    provider("x: { kind: bedrock, region: ▸Frankfurt }"),
    "providers.x.region",
    "is not a region of AWS",
  ],
  [
    "no role's ARN",
    provider("x: { kind: bedrock, region: us-east-1, role_arn: ▸gateway }"),
    "providers.x.role_arn",
    "is not the ARN of a role",
  ],
  [
    "a role beside a key",
    provider(`x: { kind: bedrock, region: us-east-1, api_key: env:KEY, role_arn: ▸'${ROLE}' }`),
    "providers.x.role_arn",
    "two ways to say who calls",
  ],
  [
    "a profile beside a header",
    provider("x: { kind: bedrock, region: us-east-1, headers: { Authorization: env:KEY }, profile: ▸bank }"),
    "providers.x.profile",
    "`headers.Authorization` are two ways",
  ],
  [
    "a region without effect",
    provider("x: { kind: bedrock, base_url: 'https://a.example.com', api_key: env:KEY, region: ▸us-east-1 }"),
    "providers.x.region",
    "says nothing",
  ],
  [
    "a base URL with the path",
    provider("x: { kind: bedrock, region: us-east-1, base_url: ▸'https://a.example.com/model' }"),
    "providers.x.base_url",
    "`/model`, which calls add themselves",
  ],
  [
    "a region of another kind",
    provider("x: { kind: anthropic, api_key: env:KEY, region: ▸us-east-1 }"),
    "providers.x.region",
    "has no meaning for kind anthropic, only for bedrock",
  ],
];
testRefused(refused, { variables });
