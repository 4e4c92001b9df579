import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../core/clock.ts";
import { aRow } from "../ledger/fixtures/rows.ts";
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

const GUARDED = [
  "/admin/requests",
  "/admin/requests/req_1",
  "/admin/spend",
  "/admin/feedback",
  "/admin/deployments",
  "/admin/openapi.json",
  "/v1/stats",
  "/metrics",
];

describe("who may come in", () => {
  it("refuses everybody without an admin key, in the OpenAI error shape", async () => {
    const { get } = await started();
    for (const path of GUARDED) {
      for (const key of [null, "wrong", `${KEYS.admin}x`, "x".repeat(5_000), ""]) {
        const answer = await get(path, key);
        expect([path, answer.status]).toEqual([path, 401]);
        expect(answer.headers.get("www-authenticate")).toContain("Bearer");
        const { error } = (await answer.json()) as { error: Record<string, unknown> };
        expect(error).toMatchObject({ code: "invalid_api_key", type: "invalid_request_error", param: null });
        expect(error["request_id"]).toMatch(/^req_/);
      }
    }
  });

  it("says what to set where there is no admin key at all", async () => {
    const { get } = await started({ adminKeys: () => [] });
    expect(JSON.stringify(await (await get("/admin/spend")).json())).toContain("SLUICEGATE_ADMIN_KEY");
  });

  it("lets viewers read, and keys of one tenant nothing that tells of all", async () => {
    const { get } = await started();
    for (const path of GUARDED.filter((candidate) => !candidate.includes("req_1"))) {
      expect([path, (await get(path, KEYS.viewer)).status]).toEqual([path, 200]);
    }
    for (const path of ["/v1/stats", "/metrics"]) expect((await get(path, KEYS.acme)).status).toBe(403);
  });
});

describe("what is not there", () => {
  it("answers 404 and 405 as JSON", async () => {
    const { get } = await started();
    for (const path of ["/admin", "/admin/", "/admin/nothing", "/admin/requests/", "/console/x"]) {
      const answer = await get(path);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(await answer.json()).toMatchObject({ error: { code: "not_found" } });
    }
    const wrong = await get("/admin/requests/req_1", KEYS.admin, { method: "DELETE" });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await get("/console/login")).headers.get("allow")).toBe("POST");
    expect((await get("/healthz", null, { method: "OPTIONS" })).status).toBe(405);
  });

  it("has a reload only where the gateway can", async () => {
    const { get } = await started();
    expect((await get("/admin/config/reload", KEYS.admin, { method: "POST" })).status).toBe(404);
  });

  it.each(["/admin/%zz", "/admin/requests/%E0%A4%A"])(
    "answers a broken path %s with a 400 of its own",
    async (path) => {
      const { url } = await started();
      const { status, body } = await raw(url, path);
      expect(status).toBe(400);
      expect(JSON.parse(body)).toMatchObject({ error: { code: "invalid_request" } });
    },
  );
});

describe("what fails inside", () => {
  it("is a 500 with a request id, and its words and stack stay inside", async () => {
    const faults: unknown[] = [];
    const broken = () => {
      throw new Error("secret words of a database");
    };
    const { get, parts } = await started({
      reader: { requests: broken, request: broken, spend: broken, close: () => {} },
    });
    parts.log = { ...parts.log, fault: (_, cause) => faults.push(cause) };
    const answer = await get("/admin/requests");
    const text = await answer.text();
    expect(answer.status).toBe(500);
    expect(JSON.parse(text).error).toMatchObject({ code: "internal", type: "server_error" });
    expect(text).not.toMatch(/secret words|\.ts|at /);
    expect(faults).toHaveLength(1);
  });

  it("refuses a large body and one of an unknown kind", async () => {
    const { get } = await started({ reload: async () => ({ ok: true, problems: [] }) });
    const post = (body: string, type: string) =>
      get("/admin/config/reload", KEYS.admin, { method: "POST", body, headers: { "content-type": type } });
    expect((await post(`"${"x".repeat(70_000)}"`, "application/json")).status).toBe(413);
    expect((await post("{", "application/json")).status).toBe(400);
    expect((await post("x", "application/x-odd")).status).toBe(400);
    expect((await post("{}", "application/json")).status).toBe(200);
  });
});

describe("a body that does not come", () => {
  it("does not hold the connection for ever", async () => {
    const timers: { ms: number; fn: () => void }[] = [];
    const after = (ms: number, fn: () => void) => {
      timers.push({ ms, fn });
      return { cancel: () => {} };
    };
    const { url } = await started({ clock: { ...systemClock, after } });
    const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": "100" };
    const sent = httpRequest(`${url}/console/login`, { method: "POST", headers });
    const cut = new Promise((resolve) => sent.once("error", resolve));
    sent.write("key=");
    while (timers.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    for (const { fn } of timers) fn();
    expect(await cut).toMatchObject({ code: "ECONNRESET" });
  });
});

describe("POST /admin/config/reload", () => {
  it("needs the role admin, and says whether the new config holds", async () => {
    const problem = { severity: "error", file: "a.yaml", line: 1, column: 1, path: "", message: "bad" } as const;
    let ok = true;
    const { get } = await started({ reload: async () => ({ ok, problems: ok ? [] : [problem] }) });
    const post = (key: string) => get("/admin/config/reload", key, { method: "POST" });
    expect((await post(KEYS.viewer)).status).toBe(403);
    expect((await post(KEYS.acme)).status).toBe(403);
    expect(await (await post(KEYS.admin)).json()).toEqual({ ok: true, revision: "abc123", problems: [] });
    ok = false;
    const refused = await post(KEYS.admin);
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ ok: false, problems: [problem], error: { code: "config_refused" } });
  });
});

describe("GET /admin/openapi.json", () => {
  it("describes the queries that are checked", async () => {
    const { get } = await started({ reload: async () => ({ ok: true, problems: [] }) });
    const document = (await (await get("/admin/openapi.json")).json()) as {
      openapi: string;
      info: { version: string };
      paths: Record<string, Record<string, { parameters?: { name: string; schema: unknown }[] }>>;
    };
    expect([document.openapi, document.info.version]).toEqual(["3.1.0", "1.2.3"]);
    const names = (path: string) => document.paths[path]?.["get"]?.parameters?.map(({ name }) => name).sort();
    expect(names("/admin/requests")).toEqual("alias cursor deployment from limit status tenant to".split(" "));
    expect(names("/admin/requests/{id}")).toEqual(["id"]);
    expect(names("/admin/spend")).toEqual(["by", "format", "from", "tenant", "to"]);
    expect(document.paths["/admin/config/reload"]?.["post"]).toBeDefined();
    expect(JSON.stringify(document)).not.toContain("undefined");
  });
});

describe("every answer", () => {
  it("is not cached and carries a request id", async () => {
    const { get, add } = await started();
    add(aRow("req_1"));
    for (const path of ["/healthz", "/v1/health", "/admin/requests/req_1", "/console", "/admin/none"]) {
      const { headers } = await get(path);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-request-id")).toMatch(/^req_/);
    }
  });
});

/** A path as it stands: fetch would put it right. */
function raw(url: string, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { path, headers: { authorization: `Bearer ${KEYS.admin}` } }, (response) => {
      let body = "";
      response.on("data", (chunk) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.on("error", reject);
    sent.end();
  });
}
