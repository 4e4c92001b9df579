import { afterEach, describe, expect, it } from "vitest";
import { anAttempt, aRow } from "../ledger/fixtures/rows.ts";
import { someFacts } from "../routing/fixtures/config.ts";
import { KEYS, startControl, type TestControl } from "./fixtures/control.ts";
import type { ControlParts } from "./parts.ts";

let control: TestControl | null = null;

afterEach(async () => {
  await control?.close();
  control = null;
});

async function started(changes: Partial<ControlParts> = {}): Promise<TestControl> {
  control = await startControl(changes);
  return control;
}

function login({ get }: TestControl, key: string, headers: Record<string, string> = {}): Promise<Response> {
  return get("/console/login", null, { method: "POST", body: new URLSearchParams({ key }), headers });
}

const cookieOf = (answer: Response) => answer.headers.get("set-cookie")?.split(";")[0] ?? "";

async function page({ get }: TestControl, cookie: string): Promise<string> {
  return (await get("/console", null, { headers: { cookie } })).text();
}

describe("the way in", () => {
  it("shows strangers a sign-in page and nothing else", async () => {
    const running = await started();
    running.add(aRow("req_1"));
    for (const path of ["/console", "/console/"]) {
      const answer = await running.get(path, null);
      const text = await answer.text();
      expect(answer.status).toBe(200);
      expect(text).toContain('name="key"');
      expect(text).not.toMatch(/abc123|gpt-big|1\.2\.3|default/);
      expect(answer.headers.get("content-security-policy")).toMatch(
        /default-src 'none'; style-src 'sha256-.*frame-ancestors 'none'/,
      );
    }
  });

  it("takes an admin key by form, and keeps a session that scripts and other sites cannot use", async () => {
    const running = await started();
    const answer = await login(running, ` ${KEYS.admin} `);
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console"]);
    const cookie = answer.headers.get("set-cookie") ?? "";
    for (const part of ["HttpOnly", "SameSite=Strict", "Path=/console", "Max-Age=43200"])
      expect(cookie).toContain(part);
    expect(cookie).not.toContain("Secure");
    expect(cookie).not.toContain(KEYS.admin);
    expect(await page(running, cookieOf(answer))).toContain("abc123");
  });

  it("refuses a wrong key and a form of another site", async () => {
    const running = await started();
    const wrong = await login(running, "wrong");
    expect([wrong.status, wrong.headers.get("set-cookie")]).toEqual([401, null]);
    expect(await wrong.text()).toContain("not an admin key");
    for (const site of ["cross-site", "same-site"]) {
      expect((await login(running, KEYS.admin, { "sec-fetch-site": site })).status).toBe(403);
    }
    expect((await login(running, KEYS.admin, { "sec-fetch-site": "same-origin" })).status).toBe(303);
  });

  it("opens by link once", async () => {
    const running = await started();
    const link = `/console?token=${running.parts.consoleLinks.issue()}`;
    expect((await running.get(link, null, { method: "HEAD" })).headers.get("set-cookie")).toBeNull();
    const first = await running.get(link, null);
    expect([first.status, first.headers.get("location")]).toEqual([303, "/console"]);
    expect(await page(running, cookieOf(first))).toContain("signed in as admin");
    const second = await running.get(link, null);
    expect([second.status, second.headers.get("set-cookie")]).toEqual([401, null]);
    // Who is in already is let in by an old link all the same.
    expect((await running.get(link, null, { headers: { cookie: cookieOf(first) } })).status).toBe(303);
  });

  it("lets a link lapse after a day", async () => {
    let now = Date.parse("2026-11-15T12:00:00Z");
    const { createConsoleLinks } = await import("./console-links.ts");
    const { systemRandom } = await import("../core/random.ts");
    const { systemClock } = await import("../core/clock.ts");
    const links = createConsoleLinks({ ...systemClock, now: () => now }, systemRandom());
    const token = links.issue();
    now += 24 * 3_600_000;
    expect(links.redeem(token)).toBe(false);
  });

  it("ends a session at sign-out, and when its key is taken away", async () => {
    let keys = [] as ReturnType<ControlParts["adminKeys"]>;
    const running = await started({ adminKeys: () => keys });
    keys = running.parts.snapshot().adminKeys;
    const cookie = cookieOf(await login(running, KEYS.viewer));
    expect(await page(running, cookie)).toContain("signed in as viewer");
    keys = keys.filter(({ role }) => role !== "viewer");
    expect(await page(running, cookie)).toContain('name="key"');
    keys = running.parts.snapshot().adminKeys;
    const out = await running.get("/console/logout", null, { method: "POST", headers: { cookie } });
    expect([out.status, out.headers.get("set-cookie")]).toEqual([303, expect.stringContaining("Max-Age=0")]);
    expect(await page(running, cookie)).toContain('name="key"');
  });
});

describe("the page", () => {
  async function filled(key: string): Promise<string> {
    const running = await started();
    const cost = { cost_micro_usd: 1_234_500 };
    const today = { started_at: "2026-11-15T09:30:00.000Z" };
    running.add(
      aRow("req_1", { ...today, ...cost, latency_ms: 1_240, user: "<script>alert(1)</script>", alias: 'x"onload=' }),
      [
        anAttempt(1, { status: "failed", error_class: "timeout", http_status: 504 }),
        anAttempt(2, { ...cost, deployment: "backup" }),
      ],
    );
    running.add(aRow("req_2", { ...today, tenant: "other", ...cost }), [anAttempt(1, cost)]);
    return page(running, cookieOf(await login(running, key)));
  }

  it("tells what runs, what stands behind each alias, what went through and what it cost", async () => {
    const text = await filled(KEYS.admin);
    for (const part of [
      "1.2.3",
      "Serving, all well",
      "1m 30s",
      "abc123",
      "eu-west",
      "<h3>default</h3>",
      "gpt-big",
      "openai",
    ]) {
      expect(text).toContain(part);
    }
    for (const part of ["$2.4690", "1.24 s", "$1.2345", "timeout 504", "req_1", "other"]) expect(text).toContain(part);
  });

  it("escapes everything that came from elsewhere, and has no scripts", async () => {
    const text = await filled(KEYS.admin);
    expect(text).not.toContain("<script");
    expect(text).not.toContain("<b>llama");
    expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(text).toContain("x&quot;onload=");
    expect(text).toContain("is &lt;odd&gt;");
  });

  it("says why a request went where it went, to who may see all deployments", async () => {
    const running = await started();
    const facts = { ...someFacts({ alias: "fast" }) };
    running.add(aRow("req_1", { started_at: "2026-11-15T09:30:00.000Z", tenant: "acme", facts }));
    const seen = await page(running, cookieOf(await login(running, KEYS.admin)));
    expect(seen).toContain("Routed by chain, ordered: nobody.");
    expect(seen).toContain("not backup: capability, its provider has no chat endpoint");
    expect(await page(running, cookieOf(await login(running, KEYS.acme)))).not.toContain("Routed by");
  });

  it("is blind to the other tenants for a key of one", async () => {
    const text = await filled(KEYS.acme);
    expect(text).toContain("viewer of acme");
    expect(text).toContain("req_1");
    expect(text).not.toMatch(/req_2|gpt-big|odd&gt;|\$2\.4690/);
    expect(text).toContain("<h3>fast</h3>");
  });

  it("shows a first request to make while there is none", async () => {
    const running = await started();
    expect(await page(running, cookieOf(await login(running, KEYS.admin)))).toContain("curl -s");
  });

  it("still shows the rest when the ledger cannot be read", async () => {
    const broken = () => {
      throw new Error("locked");
    };
    const running = await started({ reader: { requests: broken, request: broken, spend: broken, close: () => {} } });
    const text = await page(running, cookieOf(await login(running, KEYS.admin)));
    expect(text).toContain("cannot be read just now");
    expect(text).toContain("abc123");
  });
});
