import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { writeFileSync } from "node:fs";
import { type SecretServer, startSecretServer } from "./secret-server.ts";

/** A local server that speaks Secret Manager's API and gives the tokens for it. */
export interface GcpSecretsServer extends SecretServer {
  /** Payloads by resource, `…/versions/latest` among them. */
  secrets: Map<string, string>;
  /** Writes the key file of a service account whose tokens this server gives. */
  writeKeyFile(path: string): void;
}

/** Starts one. */
export async function startGcpSecrets(): Promise<GcpSecretsServer> {
  const secrets = new Map<string, string>();
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const tokens = new Set<string>();
  const server = await startSecretServer(
    ({ method, path, headers, body }, reply) => {
      if (method === "POST" && path === "/token") {
        const assertion = new URLSearchParams(body).get("assertion") ?? "";
        if (!isSigned(assertion)) return reply(400, { error: "invalid_grant" });
        const token = `ya29.token-${tokens.size + 1}`;
        tokens.add(token);
        return reply(200, { access_token: token, expires_in: 3600, token_type: "Bearer" });
      }
      const token = String(headers.authorization).replace("Bearer ", "");
      if (!tokens.has(token)) return reply(401, { error: { code: 401, status: "UNAUTHENTICATED" } });
      const name = /^\/v1\/(.+):access$/.exec(path)?.[1] ?? "";
      const payload = secrets.get(name);
      if (payload === undefined) return reply(404, { error: { code: 404, status: "NOT_FOUND" } });
      reply(200, { name, payload: { data: Buffer.from(payload).toString("base64") } });
    },
    { status: 403, body: { error: { code: 403, status: "PERMISSION_DENIED" } } },
  );
  const isSigned = (assertion: string): boolean => {
    const [head = "", claims = "", signature = ""] = assertion.split(".");
    const bytes = Buffer.from(signature, "base64url");
    return verify("sha256", Buffer.from(`${head}.${claims}`), createPublicKey(privateKey), bytes);
  };
  return {
    ...server,
    secrets,
    writeKeyFile(path) {
      const account = {
        type: "service_account",
        project_id: "p",
        private_key_id: "k1",
        private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
        client_email: "reader@p.iam.gserviceaccount.com",
        token_uri: `${server.url}/token`,
      };
      writeFileSync(path, JSON.stringify(account), { mode: 0o600 });
    },
  };
}
