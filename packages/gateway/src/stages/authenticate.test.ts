import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { aTenant } from "../config/fixtures/parts.ts";
import type { KeyEntry } from "../config/snapshot.ts";
import { GatewayError } from "../core/errors.ts";
import { authenticate } from "./authenticate.ts";
import type { DataPlane, Runtime } from "./plane.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

function keyOf(credential: string, change: Partial<KeyEntry> = {}): KeyEntry {
  return {
    ...{ id: `key of ${credential}`, hash: sha256(credential), tenant: "acme", team: null, application: null },
    ...{ name: null, models: null, expiresAt: null, source: "config", ...change },
  };
}

/** A gateway with these keys, which may change. */
function gateway(...entries: KeyEntry[]) {
  const clock = new VirtualClock();
  const keys = new Map(entries.map((key) => [key.hash, key]));
  const tenants = new Map([["acme", aTenant("acme")]]);
  const plane = { clock, keys: { find: (hash: string) => keys.get(hash) } } as unknown as DataPlane;
  const runtime = { snapshot: { tenants } } as unknown as Runtime;
  /** Whose request it is: the key's id, or why it is nobody's. */
  const ask = (headers: Partial<Record<string, string>>, inPath?: string): string => {
    try {
      return authenticate(plane, runtime, { header: (name) => headers[name] }, inPath).key.id;
    } catch (thrown) {
      if (thrown instanceof GatewayError) return thrown.message;
      throw thrown;
    }
  };
  return { clock, keys, tenants, ask };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

it("looks at every request for what has become of a key", () => {
  const key = keyOf("sg_a", { expiresAt: 5_000 });
  const { clock, keys, tenants, ask } = gateway(key, keyOf("sg_b"));
  clock.advance(1_000 - clock.now());
  expect(ask(bearer("sg_a"))).toBe("key of sg_a");
  expect(ask(bearer("sg_a"))).toBe("key of sg_a");
  keys.delete(key.hash);
  expect(ask(bearer("sg_a"))).toContain("not known here");
  keys.set(key.hash, key);
  clock.advance(4_000);
  expect(ask(bearer("sg_a"))).toContain("has expired");
  tenants.clear();
  expect(ask(bearer("sg_b"))).toContain("no longer configured");
});

const token = fc.constantFrom("sg_a", "sg_b", "sg_nobody", "", " ", "x".repeat(5_000));
const words = fc.constantFrom("Bearer ", "bearer ", "BEARER  ", "Bearer", "Basic ", " Bearer ", "");
const headers = fc.record(
  {
    authorization: fc.tuple(words, token).map(([word, text]) => word + text),
    "x-api-key": token,
    "api-key": token.map((text) => ` ${text} `),
    "x-goog-api-key": token,
  },
  { requiredKeys: [] },
);

/** The credential of a request by the letter of the contract. */
function credentialIn(sent: Partial<Record<string, string>>, inPath: string | undefined): string | null {
  const [, scheme = "", rest = ""] = /^([^ ]+) (.*)$/s.exec(sent["authorization"] ?? "") ?? [];
  const given = scheme.toLowerCase() === "bearer" ? rest.trim() : "";
  const others = ["x-api-key", "api-key", "x-goog-api-key"].map((name) => sent[name]?.trim());
  return [given, ...others, inPath?.trim()].find((text) => text) ?? null;
}

it("tells callers apart by what each sends", () => {
  const request = fc.record({ headers, inPath: fc.option(token, { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 12 }), (requests) => {
      const { ask } = gateway(keyOf("sg_a"), keyOf("sg_b"));
      for (const { headers: sent, inPath } of requests) {
        const credential = credentialIn(sent, inPath);
        const known = credential === "sg_a" || credential === "sg_b" ? `key of ${credential}` : undefined;
        const refusal = credential === null ? "no API key was sent" : "not known here";
        expect(ask(sent, inPath)).toContain(known ?? refusal);
      }
    }),
    { numRuns: 1_000 },
  );
});
