import type { CredentialUse } from "@sluicegate/contract";
import type { SignatureV4 } from "@smithy/signature-v4";
import type { Clock } from "../../core/clock.ts";
import { inOnePiece } from "../../core/pieces.ts";
import { Sha256 } from "../../core/sha256.ts";
import type { Authenticated, Authenticator, Unsigned } from "../authenticator.ts";
import { keysIn } from "./aws-credentials.ts";
import type { HeldToken } from "./token-cache.ts";
import type { Borrowed } from "./token-shelf.ts";

/** AWS takes a signature for five minutes; this machine's clock is believed while it is closer to AWS's than this, ms. */
const SKEW_MS_MIN = 240_000;
/** Headers that are signed besides those of the signature: what nobody on the way may change. */
const SIGNED = /^(?:content-type|x-amz-.*)$/;

/** What is signed for. */
export interface Scope {
  region: string;
  service: string;
}

/**
 * Signs each request by AWS Signature Version 4, with the hash of its body. Each set of credentials is a generation. A clock
 * that is wrong is found out by the date of a refusal, and made up for.
 */
export function awsAuthenticator(
  name: string,
  { tokens, release }: Borrowed,
  { region, service }: Scope,
  clock: Clock,
): Authenticator {
  let signer: { serial: number; v4: SignatureV4 } | null = null;
  /** What has to be added to this machine's clock, ms. */
  let skewMs = 0;
  const useOf = (serial: number): CredentialUse => ({ name, generation: serial, owner: "shared" });
  const sign = async ({ serial, value }: HeldToken, request: Unsigned): Promise<Authenticated> => {
    if (signer?.serial !== serial) {
      // Only who signs pays for the library.
      const { SignatureV4: Signer } = await import("@smithy/signature-v4");
      signer = { serial, v4: new Signer({ service, region, credentials: keysIn(value), sha256: Sha256 }) };
    }
    const plain = signable(request);
    const signed = await signer.v4.sign(plain, { signingDate: new Date(clock.now() + skewMs) });
    const added = Object.entries(signed.headers).filter(([header]) => !(header in plain.headers));
    return { headers: added.flat(), use: useOf(serial) };
  };
  return {
    get current() {
      return tokens.current && useOf(tokens.current.serial);
    },
    async authenticate(request) {
      return sign(await tokens.take(), request);
    },
    async refused(use, answeredAt = Number.NaN) {
      const off = answeredAt - clock.now();
      const needed = Math.abs(off) > SKEW_MS_MIN ? off : 0;
      if (Math.abs(needed - skewMs) >= SKEW_MS_MIN) {
        skewMs = needed;
        return true;
      }
      const refused = tokens.current?.value;
      // Keys that were looked up anew and are the same would be refused again.
      return (await tokens.refused(use.generation)) && tokens.current?.value !== refused;
    },
    close: release,
  };
}

function signable({ method, origin, path, headers, body }: Unsigned): Parameters<SignatureV4["sign"]>[0] & {
  headers: Record<string, string>;
} {
  const url = new URL(origin + path);
  const signed: Record<string, string> = { host: url.host };
  for (let at = 0; at < headers.length; at += 2) {
    const [header = "", value = ""] = [headers[at], headers[at + 1]];
    if (SIGNED.test(header)) signed[header] = value;
  }
  const query: Record<string, string[]> = {};
  for (const [key, value] of url.searchParams) query[key] = [...(query[key] ?? []), value];
  return {
    method,
    protocol: url.protocol,
    hostname: url.hostname,
    ...(url.port !== "" && { port: Number(url.port) }),
    path: path.split("?")[0] ?? path,
    query,
    headers: signed,
    body: body ? inOnePiece(body) : "",
  };
}
