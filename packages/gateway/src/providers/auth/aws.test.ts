import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { authorization, sha256 } from "../../../test/support/sigv4.ts";
import { VirtualClock } from "../../../test/support/virtual-clock.ts";
import type { AwsConfig } from "../../config/snapshot.ts";
import { Secret } from "../../core/secret.ts";
import type { Authenticated, Authenticator, Unsigned } from "../authenticator.ts";
import { awsAuthenticator } from "./aws-authenticator.ts";
import { type AwsKeys, awsCredentials, keysIn } from "./aws-credentials.ts";
import { TokenShelf } from "./token-shelf.ts";

const EPOCH = Date.UTC(2015, 7, 30, 12, 36);
const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const KEYS: AwsKeys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: SECRET };
const CHAIN: AwsConfig = { region: "us-east-1", roleArn: null, profile: null, keys: null };
const SIGNER = { id: KEYS.accessKeyId, secret: SECRET, region: "us-east-1", service: "bedrock" };

function unsigned(path: string, body = "{}"): Unsigned {
  const headers = ["content-type", "application/json", "user-agent", "sluicegate", "x-other", "a"];
  return {
    method: "POST",
    origin: "https://bedrock-runtime.us-east-1.amazonaws.com",
    path,
    headers,
    body: Buffer.from(body),
  };
}

/** An authenticator over credentials that a test hands out, one set a look. */
function over(...looks: (AwsKeys | Error)[]): {
  authenticator: Authenticator;
  clock: VirtualClock;
  asked: () => number;
} {
  const clock = new VirtualClock(EPOCH);
  let asked = 0;
  const find = async (): Promise<AwsKeys> => {
    const look = looks[Math.min(asked++, looks.length - 1)];
    if (look === undefined || look instanceof Error) throw look;
    return look;
  };
  const borrowed = new TokenShelf(clock).borrow([], awsCredentials(CHAIN, clock, find));
  const authenticator = awsAuthenticator("aws", borrowed, SIGNER, clock);
  return { authenticator, clock, asked: () => asked };
}

function headersOf({ headers }: Authenticated): Record<string, string> {
  const pairs = Array.from({ length: headers.length / 2 }, (_, i) => [headers[2 * i], headers[2 * i + 1]]);
  return Object.fromEntries(pairs);
}

describe("a signature", () => {
  test("as AWS published it is what the tests' own hand makes (get-vanilla)", () => {
    const headers = { host: "example.amazonaws.com", "x-amz-date": "20150830T123600Z" };
    const request = { method: "GET", path: "/", query: "", headers, bodyHash: sha256("") };
    expect(authorization(request, { ...SIGNER, service: "service" })).toBe(
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    );
  });

  test.each([
    ["/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse", "{}", undefined],
    [
      "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fa/converse-stream",
      '{"text":"Grüße 👋"}',
      "a-token",
    ],
    ["/model/a%20b!'()*/invoke?b=2&a=1%202", "", undefined],
  ])("of %s %s is the same by both hands", async (path, body, sessionToken) => {
    const { authenticator } = over({ ...KEYS, ...(sessionToken !== undefined && { sessionToken }) });
    const request = unsigned(path, body);
    const { authorization: got, ...added } = headersOf(await authenticator.authenticate(request));
    expect(added["x-amz-content-sha256"]).toBe(sha256(body));
    expect(added["x-amz-date"]).toBe("20150830T123600Z");
    expect(added["x-amz-security-token"]).toBe(sessionToken);
    const [pure = "", query = ""] = path.split("?");
    const host = "bedrock-runtime.us-east-1.amazonaws.com";
    const headers = { host, "content-type": "application/json", ...added };
    expect(got).toBe(authorization({ method: "POST", path: pure, query, headers, bodyHash: sha256(body) }, SIGNER));
  });

  test("of a body in pieces is that of the whole", async () => {
    const { authenticator } = over(KEYS);
    const whole = unsigned("/", '{"model":"m"}');
    const pieces = ['{"model":', '"m"', "}"].map((piece) => Buffer.from(piece));
    const inPieces = { ...whole, body: { pieces, length: 13 } };
    expect(await authenticator.authenticate(inPieces)).toEqual(await authenticator.authenticate(whole));
    const asText = { ...whole, body: '{"model":"m"}' };
    expect(await authenticator.authenticate(asText)).toEqual(await authenticator.authenticate(whole));
    expect(await authenticator.authenticate(unsigned("/", ""))).not.toEqual(await authenticator.authenticate(whole));
  });
});

describe("credentials", () => {
  test("are looked up once, however many wait for them", async () => {
    const { authenticator, asked } = over(KEYS);
    expect(authenticator.current).toBeNull();
    const answers = await Promise.all([1, 2, 3].map(() => authenticator.authenticate(unsigned("/"))));
    expect(answers.map(({ use }) => use?.generation)).toEqual([1, 1, 1]);
    expect([asked(), authenticator.current]).toEqual([1, { name: "aws", generation: 1, owner: "shared" }]);
  });

  test("are replaced before they end", async () => {
    const later = { ...KEYS, accessKeyId: "AKIDLATER", expiration: new Date(EPOCH + 7_200_000) };
    const { authenticator, clock, asked } = over({ ...KEYS, expiration: new Date(EPOCH + 3_600_000) }, later);
    await authenticator.authenticate(unsigned("/"));
    await authenticator.authenticate(unsigned("/"));
    clock.advance(3_299_000);
    expect(asked()).toBe(1);
    clock.advance(2_000);
    expect(asked()).toBe(2);
    await vi.waitFor(() => expect(authenticator.current?.generation).toBe(2));
    expect(headersOf(await authenticator.authenticate(unsigned("/")))["authorization"]).toContain("AKIDLATER");
  });

  test("that are refused are looked up anew: others may be tried at once, the same not", async () => {
    const { authenticator, asked } = over(KEYS, { ...KEYS, accessKeyId: "AKIDNEW" });
    const { use } = await authenticator.authenticate(unsigned("/"));
    if (!use) throw new Error("no use");
    expect([await authenticator.refused(use, EPOCH), asked()]).toEqual([true, 2]);
    const same = over(KEYS);
    const first = await same.authenticator.authenticate(unsigned("/"));
    expect(first.use && (await same.authenticator.refused(first.use))).toBe(false);
  });

  test("are not the fault of a clock that is wrong", async () => {
    const { authenticator, asked } = over(KEYS);
    const dateOf = async (): Promise<string | undefined> =>
      headersOf(await authenticator.authenticate(unsigned("/")))["x-amz-date"];
    await dateOf();
    const use = { name: "aws", generation: 1, owner: "shared" } as const;
    expect(await authenticator.refused(use, EPOCH + 600_000)).toBe(true);
    expect([await dateOf(), asked()]).toEqual(["20150830T124600Z", 1]);
    // Told the same again, it is not the clock.
    expect(await authenticator.refused(use, EPOCH + 600_000)).toBe(false);
    expect(asked()).toBe(2);
    // The clock has been set right.
    expect(await authenticator.refused({ ...use, generation: 2 }, EPOCH + 1_000)).toBe(true);
    expect(await dateOf()).toBe("20150830T123600Z");
  });

  test("that cannot be had fail in words that hold nothing of what was found", async () => {
    const thrown = Object.assign(new Error(`tried ${SECRET}`), { name: "CredentialsProviderError" });
    const { authenticator } = over(thrown);
    await expect(authenticator.authenticate(unsigned("/"))).rejects.toThrow(
      "no AWS credentials of the credential chain (CredentialsProviderError)",
    );
    const { authenticator: expired } = over({ ...KEYS, expiration: new Date(EPOCH - 1) });
    await expect(expired.authenticate(unsigned("/"))).rejects.toThrow("have expired");
  });
});

describe("AWS's own chain", () => {
  const clock = new VirtualClock(Date.now());
  const find = async (aws: Partial<AwsConfig>): Promise<AwsKeys> =>
    keysIn((await awsCredentials({ ...CHAIN, ...aws }, clock)()).value);

  /** Nothing of this machine's own is looked at. */
  function alone(variables: Record<string, string>): void {
    const none = { AWS_EC2_METADATA_DISABLED: "true", AWS_SHARED_CREDENTIALS_FILE: "/none", AWS_CONFIG_FILE: "/none" };
    for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) vi.stubEnv(name, undefined);
    for (const [name, value] of Object.entries({ ...none, ...variables })) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
  }

  async function served(answer: (path: string) => { type: string; body: string }): Promise<string> {
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        const { type, body } = answer(request.url ?? "");
        response.writeHead(200, { "content-type": type }).end(body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test("reads a profile, anew each time", async () => {
    const dir = mkdtempSync(join(tmpdir(), "sluicegate-aws-"));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const file = join(dir, "credentials");
    const write = (id: string): void =>
      writeFileSync(file, `[bank]\naws_access_key_id=${id}\naws_secret_access_key=s\n`);
    alone({ AWS_SHARED_CREDENTIALS_FILE: file });
    write("AKIDONE");
    expect(await find({ profile: "bank" })).toEqual({ accessKeyId: "AKIDONE", secretAccessKey: "s" });
    write("AKIDTWO");
    expect((await find({ profile: "bank" })).accessKeyId).toBe("AKIDTWO");
    await expect(find({ profile: "shop" })).rejects.toThrow("no AWS credentials of profile shop");
  });

  test("asks the container", async () => {
    const Expiration = new Date(Date.now() + 3_600_000).toISOString();
    const given = { AccessKeyId: "AKIDBOX", SecretAccessKey: "s", Token: "t", Expiration };
    const url = await served(() => ({ type: "application/json", body: JSON.stringify(given) }));
    alone({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/creds` });
    const { value, lifeMs } = await awsCredentials(CHAIN, clock)();
    expect(keysIn(value)).toEqual({ accessKeyId: "AKIDBOX", secretAccessKey: "s", sessionToken: "t" });
    expect(lifeMs).toBeGreaterThan(3_000_000);
  });

  test("assumes a role with the environment's keys", async () => {
    const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: new Secret(SECRET, "env:X"), sessionToken: null };
    expect((await find({ keys })).accessKeyId).toBe("AKIDEXAMPLE");
    const end = new Date(Date.now() + 3_600_000).toISOString();
    const body = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>${end}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`;
    alone({ AWS_ENDPOINT_URL_STS: await served(() => ({ type: "text/xml", body })) });
    const roleArn = "arn:aws:iam::123456789012:role/gateway";
    expect(await find({ keys, roleArn })).toEqual({ accessKeyId: "ASIAROLE", secretAccessKey: "s", sessionToken: "t" });
  });
});
