import { afterEach, describe, expect, it } from "vitest";
import { aRow } from "../ledger/fixtures/rows.ts";
import { NOW, startControl, type TestControl } from "./fixtures/control.ts";
import type { ControlParts, Phase } from "./parts.ts";

let control: TestControl | null = null;

afterEach(async () => {
  await control?.close();
  control = null;
});

async function started(changes: Partial<ControlParts> = {}): Promise<TestControl> {
  control = await startControl(changes);
  return control;
}

async function answers({ get }: TestControl) {
  const read = async (path: string) => {
    const answer = await get(path, null);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  return { alive: await read("/healthz"), ready: await read("/readyz"), health: await read("/v1/health") };
}

describe("health", () => {
  it("has the whole shape, open to all", async () => {
    const { alive, ready, health } = await answers(await started());
    expect(alive).toEqual({ status: 200, body: { status: "ok" } });
    expect(ready).toEqual({ status: 200, body: { status: "ready", degraded: [] } });
    expect(health).toEqual({
      status: 200,
      body: {
        status: "ok",
        version: "1.2.3",
        region: "eu-west",
        uptime_s: 90,
        store: { kind: "memory", state: "ok" },
        ledger: { kind: "sqlite", state: "ok", spooled_rows: 0 },
        secrets: { state: "ok", oldest_refresh_s: 60 },
        config: { revision: "abc123", loaded_at: "2026-11-15T11:59:00.000Z", state: "ok" },
        deployments: [
          { name: "openai/gpt-big", circuit: "closed" },
          { name: "backup", circuit: "closed" },
        ],
        open_circuits: 0,
      },
    });
  });

  it("tells how what is probed answers, in words and numbers, and is as ready as before", async () => {
    const probes = (): ReturnType<ControlParts["probes"]> =>
      new Map([
        ["backup", { state: "failing", since: NOW - 5_000, lastErrorClass: "overloaded", lastLatencyMs: 1_234.5 }],
        ["openai/gpt-big", { state: "unknown", since: NOW, lastErrorClass: null, lastLatencyMs: null }],
      ]);
    const running = await started({ probes });
    const { ready, health } = await answers(running);
    expect(ready).toEqual({ status: 200, body: { status: "ready", degraded: [] } });
    expect(health).toMatchObject({ status: 200, body: { status: "ok", open_circuits: 0 } });
    expect(health.body["deployments"]).toEqual([
      {
        ...{ name: "openai/gpt-big", circuit: "closed" },
        probe: { state: "unknown", since: "2026-11-15T12:00:00.000Z", last_error_class: null, last_latency_ms: null },
      },
      {
        ...{ name: "backup", circuit: "closed" },
        probe: {
          ...{ state: "failing", since: "2026-11-15T11:59:55.000Z" },
          ...{ last_error_class: "overloaded", last_latency_ms: 1_234.5 },
        },
      },
    ]);
    const metrics = await (await running.get("/metrics")).text();
    expect(metrics.split("\n").filter((line) => line.startsWith("sluicegate_probe_"))).toEqual([
      'sluicegate_probe_state{deployment="backup",state="unknown"} 0',
      'sluicegate_probe_state{deployment="backup",state="ready"} 0',
      'sluicegate_probe_state{deployment="backup",state="failing"} 1',
      'sluicegate_probe_state{deployment="openai/gpt-big",state="unknown"} 1',
      'sluicegate_probe_state{deployment="openai/gpt-big",state="ready"} 0',
      'sluicegate_probe_state{deployment="openai/gpt-big",state="failing"} 0',
      'sluicegate_probe_latency_seconds{deployment="backup"} 1.2345',
    ]);
  });

  it("stays ready while only the ledger or the config is in trouble", async () => {
    const { ready, health } = await answers(
      await started({
        ledger: { accepting: () => true, spooledRows: () => 12, state: () => "down" },
        configState: () => ({ revision: "old", loadedAt: 0, state: "last_good" }),
      }),
    );
    expect(ready).toEqual({ status: 200, body: { status: "ready", degraded: ["ledger", "config"] } });
    expect(health).toMatchObject({ status: 200, body: { status: "degraded", ledger: { spooled_rows: 12 } } });
  });

  it("is a 503 where nothing can be admitted, and readiness still holds", async () => {
    const ledger = { accepting: () => false, spooledRows: () => 9, state: () => "down" as const };
    const { ready, health } = await answers(await started({ ledger }));
    expect([ready.status, health.status, health.body["status"]]).toEqual([200, 503, "degraded"]);
  });

  it.each<[Phase, string]>([
    ["starting", "degraded"],
    ["draining", "draining"],
  ])("is a 503 on both while %s, and still alive", async (phase, status) => {
    const { alive, ready, health } = await answers(await started({ phase: () => phase }));
    expect([alive.status, ready.status, health.status]).toEqual([200, 503, 503]);
    expect([ready.body["status"], health.body["status"]]).toEqual([phase, status]);
  });
});

describe("numbers of the process", () => {
  async function busy(): Promise<TestControl> {
    const running = await started();
    const { metrics } = running.parts as {
      metrics: ReturnType<typeof import("../telemetry/metrics.ts").createMetrics>;
    };
    for (let i = 0; i < 4; i++) metrics.requestBegan();
    const usage = { ...aRow("x").usage, input_tokens: 100, output_tokens: 20 };
    metrics.requestEnded(aRow("a", { usage, cost_micro_usd: 2_500_000, overhead_ms: 0.2 }), []);
    metrics.requestEnded(aRow("b", { status: "failed", overhead_ms: 3 }), []);
    metrics.requestEnded(aRow("c", { status: "refused", overhead_ms: 9_999 }), []);
    metrics.attemptFailed("backup", "timeout");
    metrics.attemptFailed("backup", "timeout");
    metrics.attemptFailed('groq/odd"\\\n', "overloaded");
    metrics.failedOver();
    metrics.retried();
    return running;
  }

  it("are in /v1/stats", async () => {
    const { get } = await busy();
    expect(await (await get("/v1/stats")).json()).toEqual({
      in_flight: 1,
      reserved_tokens: 0,
      requests: 3,
      by_status: { ok: 1, failed: 1, refused: 1 },
      tokens: { input: 100, output: 20 },
      cost_micro_usd: 2_500_000,
      failovers: 1,
      retries: 1,
      hedges: 0,
      refusals: 1,
      aliases: ["default", "fast"],
      circuits: { "openai/gpt-big": "closed", backup: "closed" },
      by_deployment: {
        "openai/gpt-big": { failures: {} },
        backup: { failures: { timeout: 2 } },
        'groq/odd"\\\n': { failures: { overloaded: 1 } },
      },
      by_provider: { local: { failures: { timeout: 2 } }, groq: { failures: { overloaded: 1 } } },
    });
  });

  it("are in /metrics, in the text format that Prometheus reads", async () => {
    const { get } = await busy();
    const answer = await get("/metrics");
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const lines = (await answer.text()).split("\n");
    for (const line of [
      'sluicegate_requests_total{status="ok"} 1',
      'sluicegate_attempts_total{deployment="backup",error_class="timeout"} 2',
      'sluicegate_attempts_total{deployment="groq/odd\\"\\\\\\n",error_class="overloaded"} 1',
      'sluicegate_tokens_total{kind="input"} 100',
      "sluicegate_cost_usd_total 2.5",
      "sluicegate_failovers_total 1",
      "sluicegate_retries_total 1",
      "sluicegate_in_flight 1",
      "sluicegate_spool_rows 0",
      "# TYPE sluicegate_overhead_seconds histogram",
      'sluicegate_overhead_seconds_bucket{le="0.00025"} 1',
      'sluicegate_overhead_seconds_bucket{le="0.005"} 2',
      'sluicegate_overhead_seconds_bucket{le="0.25"} 2',
      'sluicegate_overhead_seconds_bucket{le="+Inf"} 3',
      "sluicegate_overhead_seconds_count 3",
      'sluicegate_build_info{version="1.2.3"} 1',
    ]) {
      expect(lines).toContain(line);
    }
    expect(lines.filter((line) => line.startsWith("sluicegate_event_loop_delay_seconds{quantile="))).toHaveLength(3);
    const odd = lines.filter(
      (line) => line !== "" && !/^(# (HELP|TYPE) |sluicegate_[a-z_]+(\{.*\})? [0-9.e+-]+$)/.test(line),
    );
    expect(odd).toEqual([]);
  });
});
