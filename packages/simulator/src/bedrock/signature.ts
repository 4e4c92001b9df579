import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ProblemError, problem } from "../models/problem.ts";

/** Key id and secret of a caller whose signatures are checked; those of any other are looked at for their form alone. */
const KNOWN_KEY = { id: "AKIDSIMULATOR", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" } as const;

const FORM =
  /^AWS4-HMAC-SHA256 Credential=([^/,\s]+)\/(\d{8})\/([a-z0-9-]+)\/([a-z0-9-]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;
const DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
const LIFE_MS = 300_000;

/** Throws the problem of a request that is not signed as AWS Signature Version 4 has it, for service `bedrock`. */
export function checkSignature(req: IncomingMessage): void {
  const { headers } = req;
  const [, keyId = "", day = "", region = "", service = "", signedHeaders = "", signature] =
    FORM.exec(headers.authorization ?? "") ?? [];
  if (signature === undefined) throw refused("IncompleteSignatureException", "Authorization header is malformed.");
  const date = String(headers["x-amz-date"] ?? "");
  const at = DATE.exec(date);
  if (at === null || !date.startsWith(day)) {
    throw refused("IncompleteSignatureException", "Authorization header requires existence of 'X-Amz-Date' header.");
  }
  const signed = signedHeaders.split(";");
  if (service !== "bedrock")
    throw refused("InvalidSignatureException", "Credential should be scoped to correct service: 'bedrock'.");
  if (!signed.includes("host") || !signed.includes("x-amz-date")) {
    throw refused("InvalidSignatureException", "'Host' must be a 'SignedHeader' in the AWS Authorization.");
  }
  if (keyId === "bad-key") throw new ProblemError(problem("bad_key", 403, "bad key", { stock: true }));
  checkAge(date, at);
  if (keyId !== KNOWN_KEY.id) return;
  const request = canonicalRequest(req, signed);
  const scope = `${day}/${region}/${service}/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${date}\n${scope}\n${createHash("sha256").update(request).digest("hex")}`;
  const key = [day, region, service, "aws4_request"].reduce<Buffer | string>(hmac, `AWS4${KNOWN_KEY.secret}`);
  if (hmac(key, text).toString("hex") === signature) return;
  const words =
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.";
  throw refused("InvalidSignatureException", words);
}

function checkAge(date: string, [, ...parts]: RegExpExecArray): void {
  const [year = 0, month = 1, day, hour, minute, second] = parts.map(Number);
  const age = Date.now() - Date.UTC(year, month - 1, day, hour, minute, second);
  const now = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  if (age > LIFE_MS)
    throw refused("InvalidSignatureException", `Signature expired: ${date} is now earlier than ${now} - 5 min.`);
  if (age < -LIFE_MS)
    throw refused(
      "InvalidSignatureException",
      `Signature not yet current: ${date} is still later than ${now} + 5 min.`,
    );
}

/** The path is encoded once more; the body is taken at the word of its header. */
function canonicalRequest({ method, url = "/", headers }: IncomingMessage, signed: readonly string[]): string {
  const [path = "/", query = ""] = url.split("?");
  const encoded = path.split("/").map(encoded3986).join("/");
  const pairs = query === "" ? [] : query.split("&").sort();
  const named = signed.map(
    (name) =>
      `${name}:${String(headers[name] ?? "")
        .trim()
        .replace(/\s+/g, " ")}\n`,
  );
  const hash = String(headers["x-amz-content-sha256"] ?? "");
  return [method, encoded, pairs.join("&"), named.join(""), signed.join(";"), hash].join("\n");
}

function encoded3986(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function refused(type: string, words: string): ProblemError {
  return new ProblemError(problem("forbidden", 403, words, { type }));
}
