import { createHash, createHmac } from "node:crypto";

/*
 * AWS Signature Version 4 by its specification, with no code of a library's: what signed requests are held against.
 */

/** A request to be signed; header names in lower case, the path as it goes over the wire. */
export interface ToSign {
  method: string;
  path: string;
  query: string;
  headers: Record<string, string>;
  bodyHash: string;
}

/** Who signs, and for what. */
export interface Signer {
  id: string;
  secret: string;
  region: string;
  service: string;
}

/** The `authorization` header that AWS expects. */
export function authorization(request: ToSign, signer: Signer): string {
  const { id, secret, region, service } = signer;
  const date = request.headers["x-amz-date"] ?? "";
  const day = date.slice(0, 8);
  const names = Object.keys(request.headers).sort();
  const path = request.path.split("/").map(encoded).join("/");
  const canonical = [
    request.method,
    path,
    request.query.split("&").sort().join("&"),
    ...names.map((name) => `${name}:${request.headers[name]?.trim()}`),
    "",
    names.join(";"),
    request.bodyHash,
  ].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n");
  let key: Buffer = Buffer.from(`AWS4${secret}`);
  for (const part of [day, region, service, "aws4_request"]) key = createHmac("sha256", key).update(part).digest();
  const signature = createHmac("sha256", key).update(text).digest("hex");
  return `AWS4-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
}

/** SHA-256 in hex. */
export function sha256(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The path is encoded once more than it is on the wire. */
function encoded(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
