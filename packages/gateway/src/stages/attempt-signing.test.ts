import { describe, expect, it } from "vitest";
import { ScriptedTransport } from "../../test/support/scripted-transport.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { Cancel } from "../core/cancel.ts";
import type { UpstreamRequest } from "../core/transport.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { Attempt } from "./attempt.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";

const REQUEST: UpstreamRequest = {
  origin: "https://up.example",
  method: "POST",
  path: "/v1/chat/completions",
  headers: [],
  body: Buffer.from("{}"),
  connectTimeoutMs: 5_000,
  pool: { key: "d", connections: 4 },
};

/** An attempt whose request is still being signed. */
function signing(cancel = new Cancel()) {
  const clock = new VirtualClock();
  const transport = new ScriptedTransport();
  let sign!: (request: UpstreamRequest) => void;
  let refuse!: (reason: Error) => void;
  const request = new Promise<UpstreamRequest>((resolve, reject) => {
    sign = resolve;
    refuse = reject;
  });
  const attempt = new Attempt(
    {
      request,
      protocol: openaiChat,
      rewrite: null,
      writer: null,
      dresser: null,
      quirks: { maxTokensField: null, streamOptions: true, reasoningInOutput: true },
      stream: false,
      choices: 1,
      showsUsage: false,
      holdTerminator: false,
      timeouts: { connectMs: 5_000, firstTokenMs: null, idleMs: 30_000, hopMs: 60_000, streamMaxMs: 600_000 },
    } as ConstructorParameters<typeof Attempt>[0],
    transport,
    clock,
    cancel,
  );
  const outcomes: AttemptOutcome[] = [];
  void attempt.outcome.then((outcome) => outcomes.push(outcome));
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await Promise.resolve();
  };
  return { attempt, clock, cancel, transport, sign, refuse, outcomes, settled };
}

describe("a request that has to be signed first", () => {
  it("is sent once it is", async () => {
    const run = signing();
    await run.settled();
    expect(run.transport.calls).toHaveLength(0);
    run.sign({ ...REQUEST, headers: ["authorization", "Bearer t"] });
    await run.settled();
    expect(run.transport.last.request.headers).toEqual(["authorization", "Bearer t"]);
    run.attempt.onError("connect", "refused");
    await run.settled();
    expect(run.outcomes).toMatchObject([{ failure: { class: "connection_failed" } }]);
  });

  it("and for which there is no credential, fails as auth_failed, nothing sent and nothing owed", async () => {
    const run = signing();
    run.refuse(new Error("no token: the token endpoint answered 400"));
    await run.settled();
    expect(run.outcomes).toMatchObject([{ failure: { class: "auth_failed", ambiguous: false } }]);
    expect([run.transport.calls.length, run.attempt.meter.sentAt, run.clock.timers]).toEqual([0, null, 0]);
  });

  it("and is not in time, is given up, and not sent afterwards", async () => {
    const run = signing();
    run.clock.advance(5_000);
    await run.settled();
    expect(run.outcomes).toMatchObject([{ kind: "failed" }]);
    run.sign(REQUEST);
    await run.settled();
    expect([run.transport.calls.length, run.clock.timers]).toEqual([0, 0]);
  });

  it("and whose client had left before, is heard to its end: a refusal that nobody hears would end the process", async () => {
    const cancel = new Cancel();
    cancel.cancel("client_left");
    const unheard: unknown[] = [];
    const listener = (reason: unknown): void => void unheard.push(reason);
    process.on("unhandledRejection", listener);
    try {
      const run = signing(cancel);
      run.refuse(new Error("no token"));
      // Node tells of them when the microtasks of a turn are done.
      await new Promise((resolve) => setImmediate(resolve));
      expect(run.outcomes).toMatchObject([{ failure: { class: "cancelled" } }]);
      expect([unheard, run.transport.calls.length, run.clock.timers]).toEqual([[], 0, 0]);
    } finally {
      process.off("unhandledRejection", listener);
    }
  });

  it("and whose client leaves, is not sent", async () => {
    const run = signing();
    run.cancel.cancel("client_left");
    run.sign(REQUEST);
    await run.settled();
    expect(run.outcomes).toMatchObject([{ failure: { class: "cancelled" } }]);
    expect(run.transport.calls).toHaveLength(0);
  });
});
