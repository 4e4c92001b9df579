import { createHash, createHmac } from "node:crypto";
import { type Asked, type SecretServer, startSecretServer } from "./secret-server.ts";

/** Keys that the server knows. */
export const AWS_KEYS = { AWS_ACCESS_KEY_ID: "AKIDTEST", AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG+test" };

/** A local server that speaks Secrets Manager's API and checks every signature. Versions by stage, by name. */
export interface AwsSecretsServer extends SecretServer {
  secrets: Map<string, Record<string, string>>;
}

/** Starts one in us-east-1. */
export async function startAwsSecrets(): Promise<AwsSecretsServer> {
  const secrets = new Map<string, Record<string, string>>();
  const server = await startSecretServer(
    (asked, reply) => {
      if (asked.headers["x-amz-target"] !== "secretsmanager.GetSecretValue")
        return reply(400, fault("UnknownOperation"));
      if (asked.headers.authorization !== expectedSignature(asked))
        return reply(400, fault("InvalidSignatureException"));
      const { SecretId, VersionStage } = JSON.parse(asked.body) as Record<string, string>;
      const value = secrets.get(SecretId ?? "")?.[VersionStage ?? ""];
      if (value === undefined) return reply(400, fault("ResourceNotFoundException"));
      reply(200, { Name: SecretId, SecretString: value, VersionStages: [VersionStage] });
    },
    { status: 400, body: fault("AccessDeniedException") },
  );
  return { ...server, secrets };
}

function fault(type: string): Record<string, string> {
  return { __type: `com.amazonaws.secretsmanager#${type}`, Message: "no" };
}

/** Signature version 4, as AWS's documentation writes it. */
function expectedSignature({ headers, method, body }: Asked): string {
  const [, scope = "", names = ""] =
    /Credential=AKIDTEST\/([^,]+), ?SignedHeaders=([^,]+)/.exec(String(headers.authorization)) ?? [];
  const signed = names.split(";");
  const canonicalHeaders = signed.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, " ")}\n`);
  const canonical = [method, "/", "", canonicalHeaders.join(""), names, sha256(body)].join("\n");
  const text = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, sha256(canonical)].join("\n");
  const [date = "", region = "", service = "", end = ""] = scope.split("/");
  const parts = [date, region, service, end];
  const key = parts.reduce<string | Buffer>((made, part) => hmac(made, part), `AWS4${AWS_KEYS.AWS_SECRET_ACCESS_KEY}`);
  const complete = region === "us-east-1" && service === "secretsmanager" && signed.includes("host");
  const signature = complete ? hmac(key, text).toString("hex") : "";
  return `AWS4-HMAC-SHA256 Credential=AKIDTEST/${scope}, SignedHeaders=${names}, Signature=${signature}`;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
