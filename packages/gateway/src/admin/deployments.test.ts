import { afterEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import type { Ceiling } from "../core/ceiling.ts";
import { systemRandom } from "../core/random.ts";
import { HealthBoard } from "../resilience/health-board.ts";
import { LONE_BOARD } from "../resilience/shared-board.ts";
import { silentLog } from "../telemetry/log.ts";
import { type DeploymentSeatParts, deploymentSeat } from "./deployment-seat.ts";
import { KEYS, NOW, startControl, type TestControl } from "./fixtures/control.ts";
import type { ControlParts } from "./parts.ts";

let control: TestControl | null = null;

afterEach(async () => {
  await control?.close();
  control = null;
});

interface Running extends TestControl {
  board: HealthBoard;
  clock: VirtualClock;
  logged: Record<string, unknown>[];
}

/** A control plane over a real health board. */
async function started(
  changes: Partial<DeploymentSeatParts> = {},
  parts: Partial<ControlParts> = {},
): Promise<Running> {
  const clock = new VirtualClock(NOW);
  const board = new HealthBoard({ clock, random: systemRandom(), shared: LONE_BOARD });
  const logged: Record<string, unknown>[] = [];
  let snapshot: ControlParts["snapshot"] = () => {
    throw new Error("not yet");
  };
  control = await startControl({
    deployments: deploymentSeat({ board, snapshot: () => snapshot(), ceilings: () => [], used: () => 0, ...changes }),
    log: { ...silentLog, info: (message, facts = {}) => logged.push({ message, ...facts }) },
    ...parts,
  });
  snapshot = control.parts.snapshot;
  return { ...control, board, clock, logged };
}

const post = (body?: unknown): RequestInit => ({
  method: "POST",
  ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
});

const circuit = (name: string, action: string): string => `/admin/circuits/${encodeURIComponent(name)}/${action}`;

function fail(board: HealthBoard, key: string, times: number): void {
  for (let i = 0; i < times; i++) {
    const permit = board.permit(key);
    if (permit instanceof Promise || !permit.ok) throw new Error("no permit");
    permit.done({ class: "provider_error", retryAfterMs: null, ttftMs: null, latencyMs: 100 });
  }
}

describe("deployments", () => {
  it("are told with all that is known of their health", async () => {
    const { get, board } = await started({
      ceilings: ({ name }) =>
        name === "backup" ? [{ rpm: 60, tpm: null } as Ceiling, { rpm: 100, tpm: 10_000 } as Ceiling] : [],
      used: ({ rpm }) => (rpm === 100 ? 0.5 : 0.25),
    });
    fail(board, "backup", 5);
    fail(board, "backup of acme", 1);
    const { data } = (await (await get("/admin/deployments")).json()) as { data: Record<string, unknown>[] };
    expect(data.map(({ name }) => name)).toEqual(["openai/gpt-big", "backup", "backup of acme"]);
    expect(data[0]).toEqual({
      ...{ name: "openai/gpt-big", provider: "openai", model: "gpt-big", region: null, capacity: "payg" },
      ...{ circuit: "closed", opened_at: null, opened_by: null, cooldown_until: null, cooldown_for: null },
      ...{ error_rate: null, window: { requests: 0, failures: 0 }, p50_ms: null, p95_ms: null, ttft_p50_ms: null },
      ...{ in_flight: 0, remaining: { rpm: null, tpm: null }, hand: null },
    });
    expect(data[1]).toMatchObject({
      ...{ circuit: "open", opened_at: "2026-11-15T12:00:00.000Z", opened_by: "consecutive", error_rate: 1 },
      ...{ window: { requests: 5, failures: 5 }, remaining: { rpm: 45, tpm: 5_000 } },
    });
    expect(data[2]).toMatchObject({ provider: "local", window: { requests: 1 } });
    expect(await (await get("/admin/deployments/backup")).json()).toEqual(data[1]);
  });

  it("that do not exist are a 404 with a hint", async () => {
    const { get } = await started();
    const answer = await get("/admin/deployments/bakcup");
    expect([answer.status, JSON.stringify(await answer.json())]).toEqual([
      404,
      expect.stringMatching(/there is no deployment .*backup/),
    ]);
    expect((await get(circuit("nobody", "open"), KEYS.admin, post())).status).toBe(404);
  });
});

describe("circuits", () => {
  it("are opened for a time, by name with its slash encoded, and the change is logged with who made it", async () => {
    const { get, board, clock, logged } = await started();
    const answer = await get(circuit("openai/gpt-big", "open"), KEYS.operator, post({ for: "10m", reason: "drill" }));
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as { hand: { by: string } };
    expect(body).toMatchObject({
      ...{ name: "openai/gpt-big", circuit: "open", opened_at: "2026-11-15T12:00:00.000Z", opened_by: body.hand.by },
      hand: { set: "open", until: "2026-11-15T12:10:00.000Z", reason: "drill" },
    });
    expect(body.hand.by).toMatch(/^admin key [0-9a-f]{8}$/);
    expect(logged).toEqual([
      {
        ...{ message: "a circuit was set by hand", deployment: "openai/gpt-big", action: "open", circuit: "open" },
        ...{ for_ms: 600_000, reason: "drill", by: body.hand.by, request_id: answer.headers.get("x-request-id") },
      },
    ]);
    expect(board.permit("openai/gpt-big")).toMatchObject({ ok: false, why: "open" });
    clock.advance(600_000);
    expect(board.details("openai/gpt-big").hand).toBeNull();
  });

  it("are closed and reset", async () => {
    const { get, board } = await started();
    fail(board, "backup", 5);
    const closed = await (await get(circuit("backup", "close"), KEYS.admin, post())).json();
    expect(closed).toMatchObject({ circuit: "closed", opened_at: null, hand: null });
    await get(circuit("backup", "open"), KEYS.admin, post({}));
    expect(board.read("backup").circuit).toBe("open");
    const reset = await (await get(circuit("backup", "reset"), KEYS.admin, post())).json();
    expect(reset).toMatchObject({ circuit: "closed", window: { requests: 0, failures: 0 }, hand: null });
  });

  it.each([
    ["open", { for: "soon" }, "for"],
    ["open", { for: "0s" }, "for"],
    ["open", { for: 5 }, "for"],
    ["reset", { for: "5m" }, "for"],
    ["open", { fro: "5m" }, "fro"],
    ["close", { reason: "x".repeat(257) }, "reason"],
    ["close", [], null],
  ])("refuse %s with %j, naming the field", async (action, body, param) => {
    const { get, board } = await started();
    const answer = await get(circuit("backup", action), KEYS.admin, post(body));
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: "invalid_request", param } });
    expect(board.keys()).toEqual([]);
  });

  it("refuse a body that is not sent as JSON, and say how to", async () => {
    const { get } = await started();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const answer = await get(circuit("backup", "open"), KEYS.admin, { method: "POST", headers, body: '{"for":"5m"}' });
    const { error } = (await answer.json()) as { error: { message: string } };
    expect([answer.status, error.message]).toEqual([400, expect.stringContaining("content-type: application/json")]);
  });

  it("are an operator's to set, a viewer's to see, and nothing for a key of one tenant", async () => {
    const { get, board } = await started();
    for (const [key, statuses] of [
      [KEYS.admin, [200, 200]],
      [KEYS.operator, [200, 200]],
      [KEYS.viewer, [200, 403]],
      [KEYS.acme, [403, 403]],
      [null, [401, 401]],
    ] as const) {
      const seen = await get("/admin/deployments", key);
      const one = await get("/admin/deployments/backup", key);
      const set = await get(circuit("backup", "close"), key, post());
      expect([key, seen.status, one.status, set.status]).toEqual([key, statuses[0], statuses[0], statuses[1]]);
    }
    expect(board.read("backup").circuit).toBe("closed");
    expect((await get(circuit("backup", "open"))).status).toBe(405);
  });
});

describe("health", () => {
  it("is degraded while a circuit is not closed or the store is away, and as ready as before", async () => {
    const store = { kind: "redis", state: "ok" as "ok" | "down" };
    const { get, board } = await started({}, { store: () => store, queueDepth: () => 7, reservedTokens: () => 812 });
    const health = async () => (await get("/v1/health", null)).json();
    expect(await health()).toMatchObject({ status: "ok", store, open_circuits: 0 });
    fail(board, "backup", 5);
    fail(board, "backup of acme", 5);
    expect(await health()).toMatchObject({
      ...{ status: "degraded", open_circuits: 1 },
      deployments: [
        { name: "openai/gpt-big", circuit: "closed" },
        { name: "backup", circuit: "open" },
      ],
    });
    expect(JSON.stringify(await health())).not.toContain("acme");
    const ready = await get("/readyz", null);
    expect([ready.status, await ready.json()]).toEqual([200, { status: "ready", degraded: ["circuits"] }]);
    expect(await (await get("/v1/stats")).json()).toMatchObject({
      ...{ circuits: { backup: "open" }, hedges: 0, reserved_tokens: 812 },
    });
    const lines = (await (await get("/metrics")).text()).split("\n");
    for (const line of [
      'sluicegate_circuit_state{deployment="backup",state="open"} 1',
      'sluicegate_circuit_state{deployment="backup",state="closed"} 0',
      'sluicegate_circuit_state{deployment="openai/gpt-big",state="closed"} 1',
      "sluicegate_queue_depth 7",
      "sluicegate_reserved_tokens 812",
      'sluicegate_store_state{state="ok"} 1',
      "sluicegate_hedges_total 0",
    ])
      expect(lines).toContain(line);
    board.force("backup", "reset", { by: "test" });
    store.state = "down";
    expect(await health()).toMatchObject({ status: "degraded", open_circuits: 0, store: { state: "down" } });
    expect(await (await get("/readyz", null)).json()).toMatchObject({ degraded: ["store"] });
  });
});
