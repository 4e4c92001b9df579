import type { FeedbackReport, FeedbackRow } from "@sluicegate/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keyHash, startTestGateway, type TestGateway } from "./support/gateway.ts";

const OTHER_KEY = `sg_other_${"b2".repeat(32)}`;

let gateway: TestGateway;

beforeEach(async () => {
  gateway = await startTestGateway({
    config: `
providers: { sim: { kind: simulator, base_url: SIMULATOR } }
routes: { default: { chain: [sim/echo] }, fast: { chain: [sim/echo] } }
tenants: { acme: { models: { allow: '*' } }, other: { models: { allow: '*' } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: acme }, { id: other, hash: '${keyHash(OTHER_KEY)}', tenant: other }]
`,
  });
});
afterEach(() => gateway.close());

async function ask(model = "default", session?: string): Promise<string> {
  const answer = await gateway.post({
    ...{ model, messages: [{ role: "user", content: "hi" }] },
    ...(session && { session_id: session }),
  });
  expect(answer.status).toBe(200);
  await answer.text();
  return answer.headers.get("x-request-id") ?? "";
}

async function score(body: unknown, key?: string | null): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await gateway.post(body, { path: "/v1/feedback", ...(key !== undefined && { key }) });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** A report, once it holds so many groups: scores are written behind the answer. */
async function report(query: string, groups: number): Promise<FeedbackReport["data"]> {
  for (;;) {
    const answer = await gateway.admin(`/admin/feedback?${query}`);
    expect(answer.status).toBe(200);
    const { data } = (await answer.json()) as FeedbackReport;
    if (data.length >= groups) return data;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe("POST /v1/feedback", () => {
  it("scores a request that has only just been answered, and shows it by alias", async () => {
    const [first, second, third] = [await ask(), await ask(), await ask("fast")];
    const given = await score({ request_id: first, name: "helpful", value: true, comment: "good" });
    expect(given).toMatchObject({ status: 200, body: { request_id: first, session_id: null, value: true } });
    expect((await score({ request_id: second, name: "helpful", value: false })).status).toBe(200);
    expect((await score({ request_id: third, name: "helpful", value: true })).status).toBe(200);
    expect(await report("by=alias", 2)).toEqual([
      { alias: "default", name: "helpful", count: 2, mean: 0.5, min: 0, max: 1 },
      { alias: "fast", name: "helpful", count: 1, mean: 1, min: 1, max: 1 },
    ]);
    const list = (await (await gateway.admin("/admin/feedback")).json()) as { data: FeedbackRow[] };
    expect(list.data.map(({ tenant, key_id, comment }) => [tenant, key_id, comment])).toEqual([
      ["acme", "test", null],
      ["acme", "test", null],
      ["acme", "test", "good"],
    ]);
  });

  it("scores a session, and another score of the same name takes its place", async () => {
    await ask("default", "s1");
    await ask("fast", "s1");
    expect((await score({ session_id: "s1", name: "solved", value: 2 })).status).toBe(200);
    expect((await score({ session_id: "s1", name: "solved", value: 4 })).status).toBe(200);
    const data = await report("by=alias,model", 2);
    expect(data.map(({ alias, count }) => [alias, count])).toEqual([
      ["default", 1],
      ["fast", 1],
    ]);
    const settled = async (): Promise<unknown> => (await report("by=", 1))[0]?.mean;
    while ((await settled()) !== 4) await new Promise((resolve) => setTimeout(resolve, 20));
  });

  it("is a 404 for what the caller's tenant has not made, whoever else has", async () => {
    const mine = await ask("default", "s1");
    expect(await score({ request_id: mine, name: "helpful", value: true }, OTHER_KEY)).toMatchObject({
      status: 404,
      body: { error: { code: "not_found", param: "request_id" } },
    });
    expect((await score({ session_id: "s1", name: "helpful", value: true }, OTHER_KEY)).status).toBe(404);
    expect((await score({ request_id: "req_nobody", name: "helpful", value: true })).status).toBe(404);
  });

  it.each([
    [{ name: "helpful", value: 1 }, "request_id"],
    [{ request_id: "r", session_id: "s", name: "helpful", value: 1 }, "request_id"],
    [{ request_id: "r", value: 1 }, "name"],
    [{ request_id: "r", name: "two words", value: 1 }, "name"],
    [{ request_id: "r", name: "x".repeat(65), value: 1 }, "name"],
    [{ request_id: "r", name: "helpful" }, "value"],
    [{ request_id: "r", name: "helpful", value: "good" }, "value"],
    [{ request_id: "r", name: "helpful", value: null }, "value"],
    [{ request_id: 5, name: "helpful", value: 1 }, "request_id"],
    [{ request_id: "", name: "helpful", value: 1 }, "request_id"],
    [{ session_id: "s".repeat(257), name: "helpful", value: 1 }, "session_id"],
    [{ request_id: "r", name: "helpful", value: 1, comment: "x".repeat(2_001) }, "comment"],
    [{ request_id: "r", name: "helpful", value: 1, coment: "x" }, "coment"],
  ])("refuses %j, naming the field", async (body, param) => {
    expect(await score(body)).toMatchObject({ status: 400, body: { error: { code: "invalid_request", param } } });
  });

  it("refuses strangers, other methods, broken bodies and large ones", async () => {
    expect((await score({}, null)).status).toBe(401);
    expect((await score({}, "sg_nobody_x")).status).toBe(401);
    expect((await score([])).status).toBe(400);
    const broken = await gateway.post(null, { path: "/v1/feedback", raw: '{"value":1e999' });
    expect(broken.status).toBe(400);
    const endless = '{"request_id":"r","name":"n","value":1e999}';
    expect((await gateway.post(null, { path: "/v1/feedback", raw: endless })).status).toBe(400);
    const large = await gateway.post({ comment: "x".repeat(20_000) }, { path: "/v1/feedback" });
    expect([large.status, await large.json()]).toMatchObject([413, { error: { code: "request_too_large" } }]);
    const got = await fetch(`${gateway.url}/v1/feedback`);
    expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
  });
});
