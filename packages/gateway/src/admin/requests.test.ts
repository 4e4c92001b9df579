import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anAttempt, aRow } from "../ledger/fixtures/rows.ts";
import { KEYS, startControl, type TestControl } from "./fixtures/control.ts";
import { requestPageShape, requestShape } from "./shapes.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
  for (let i = 0; i < 5; i++) {
    control.add(aRow(`req_${i}`, { started_at: `2026-11-15T10:00:0${i}.000Z`, tenant: i % 2 ? "other" : "acme" }), [
      anAttempt(1, { status: "failed", error_class: "timeout", http_status: null }),
      anAttempt(2, { deployment: "backup" }),
    ]);
  }
  control.add(aRow("req_bad", { started_at: "2026-11-14T00:00:00.000Z", status: "failed", error_code: "internal" }));
});
afterAll(() => control.close());

const idsOf = (page: unknown) => (page as { data: { request_id: string }[] }).data.map((row) => row.request_id);

describe("GET /admin/requests", () => {
  it("lists the newest first, page by page, in the shape that is documented", async () => {
    const seen: string[] = [];
    let cursor = "";
    do {
      const answer = await control.get(`/admin/requests?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      expect(answer.status).toBe(200);
      const page = requestPageShape.parse(await answer.json());
      seen.push(...idsOf(page));
      cursor = page.next_cursor ?? "";
    } while (cursor);
    expect(seen).toEqual(["req_4", "req_3", "req_2", "req_1", "req_0", "req_bad"]);
  });

  it.each([
    ["tenant=other", ["req_3", "req_1"]],
    ["status=failed", ["req_bad"]],
    ["from=2026-11-15&to=2026-11-15T10:00:02Z", ["req_1", "req_0"]],
    ["alias=default&deployment=one&limit=1", ["req_4"]],
    ["alias=nothing", []],
  ])("filters by %s", async (query, expected) => {
    expect(idsOf(await (await control.get(`/admin/requests?${query}`)).json())).toEqual(expected);
  });

  it.each([
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=ten", "limit"],
    ["status=fine", "status"],
    ["from=yesterday", "from"],
    ["cursor=x", "cursor"],
    ["tennant=acme", "tennant"],
    ["tenant=a&tenant=b", "tenant"],
  ])("refuses ?%s, naming the parameter", async (query, param) => {
    const answer = await control.get(`/admin/requests?${query}`);
    expect(answer.status).toBe(400);
    const { error } = (await answer.json()) as { error: Record<string, unknown> };
    expect(error).toMatchObject({ code: "invalid_request", type: "invalid_request_error", param });
    expect(error["request_id"]).toBe(answer.headers.get("x-request-id"));
  });

  it("suggests the parameter that was meant", async () => {
    const { error } = (await (await control.get("/admin/requests?tennant=acme")).json()) as {
      error: { message: string };
    };
    expect(error.message).toContain("did you mean `tenant`?");
  });
});

describe("GET /admin/requests/{id}", () => {
  it("is one request with its attempts", async () => {
    const record = requestShape.parse(await (await control.get("/admin/requests/req_2")).json());
    expect(record.attempts.map(({ n, deployment, error_class }) => [n, deployment, error_class])).toEqual([
      [1, "one", "timeout"],
      [2, "backup", null],
    ]);
  });

  it.each(["req_none", "x".repeat(300), "%00", "..%2f..%2fetc"])("answers 404 for %s", async (id) => {
    const answer = await control.get(`/admin/requests/${id}`);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: "not_found" } });
  });
});

describe("an admin key bound to a tenant", () => {
  it("sees that tenant's requests only, by list and by id", async () => {
    expect(idsOf(await (await control.get("/admin/requests", KEYS.acme)).json())).toEqual([
      "req_4",
      "req_2",
      "req_0",
      "req_bad",
    ]);
    expect((await control.get("/admin/requests/req_2", KEYS.acme)).status).toBe(200);
    const foreign = await control.get("/admin/requests/req_1", KEYS.acme);
    const missing = await control.get("/admin/requests/req_none", KEYS.acme);
    expect([foreign.status, missing.status]).toEqual([404, 404]);
    const words = async (answer: Response) => ((await answer.json()) as { error: { message: string } }).error.message;
    expect(await words(foreign)).toBe(await words(missing));
  });

  it("may not ask for another tenant", async () => {
    const answer = await control.get("/admin/requests?tenant=other", KEYS.acme);
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ error: { code: "permission_denied", type: "permission_error" } });
    expect((await control.get("/admin/requests?tenant=acme", KEYS.acme)).status).toBe(200);
  });
});
