import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const OPENSSL = "openssl";

/** A key and the certificate that it signed, as PEM, and the files that they are in. */
export interface Certificate {
  key: string;
  cert: string;
  certFile: string;
}

/** A certificate that signs itself, for `names`, with its files in `folder`; null where there is no openssl. */
export function certificate(folder: string, id: string, names: string): Certificate | null {
  const [keyFile, certFile] = [join(folder, `${id}.key`), join(folder, `${id}.pem`)];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const subject = ["-subj", `/CN=${id}`, "-addext", `subjectAltName=${names}`];
  try {
    const files = ["-keyout", keyFile, "-out", certFile];
    execFileSync(OPENSSL, ["req", "-x509", ...kind, ...subject, ...files], { stdio: "ignore" });
  } catch {
    return null;
  }
  return { key: readFileSync(keyFile, "utf8"), cert: readFileSync(certFile, "utf8"), certFile };
}
