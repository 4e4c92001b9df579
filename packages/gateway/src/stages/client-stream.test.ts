import { describe, expect, it } from "vitest";
import { chatCall } from "../../test/support/call.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Exchange } from "../http/exchange.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { ClientStream } from "./client-stream.ts";

/** The client's side of the wire: what has been put on it, in order. */
class Wire {
  head: readonly string[] | null = null;
  written = "";
  ended = false;
  keepsUp = true;

  begin(_status: number, headers: readonly string[]): void {
    this.head ??= headers;
  }

  write(bytes: Buffer): boolean {
    expect(this.ended).toBe(false);
    this.written += bytes.toString();
    return this.keepsUp;
  }

  pass(bytes: Buffer, from: number, to: number): boolean {
    if (this.keepsUp) this.written += bytes.toString("utf8", from, to);
    return this.keepsUp;
  }

  end(bytes?: Buffer): void {
    if (bytes) this.written += bytes.toString();
    this.ended = true;
  }
}

const CALL = chatCall({ stream: true });
const PING = openaiChat.streamShape(CALL).keepalive.toString();

function streamTo(wire: Wire, keepaliveMs: number | null = 15_000): { client: ClientStream; clock: VirtualClock } {
  const clock = new VirtualClock();
  const client = new ClientStream(wire as unknown as Exchange, openaiChat, CALL, clock, keepaliveMs, [
    "x-request-id",
    "req_1",
  ]);
  return { client, clock };
}

const headOf = ({ head }: Wire): Record<string, string> =>
  Object.fromEntries((head ?? []).flatMap((name, i) => (i % 2 === 0 ? [[name, head?.[i + 1] ?? ""]] : [])));

describe("the client's side of a stream", () => {
  it("has the head of an event stream that nobody collects", () => {
    const wire = new Wire();
    const { client } = streamTo(wire);
    expect(wire.head).toBeNull();
    client.begin(["x-sluicegate-alias", "default"]);
    expect(headOf(wire)).toEqual({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
      "x-sluicegate-alias": "default",
    });
    client.close();
  });

  it("says nothing before its first output, until silence has lasted: then it commits with a ping (ruling 19)", () => {
    const wire = new Wire();
    const { client, clock } = streamTo(wire);
    clock.advance(14_999);
    expect([wire.head, wire.written]).toEqual([null, ""]);
    clock.advance(1);
    expect(wire.written).toBe(PING);
    expect(headOf(wire)).toMatchObject({ "x-request-id": "req_1", "content-type": "text/event-stream; charset=utf-8" });
    clock.advance(30_000);
    expect(wire.written).toBe(PING.repeat(3));
    // The head of whoever answers in the end comes too late.
    client.begin(["x-sluicegate-alias", "default"]);
    expect(headOf(wire)).not.toHaveProperty("x-sluicegate-alias");
    client.close();
  });

  it("pings only where the stream itself has been silent", () => {
    const wire = new Wire();
    const { client, clock } = streamTo(wire);
    client.begin([]);
    for (let i = 0; i < 10; i++) {
      clock.advance(10_000);
      client.write(Buffer.from("x"));
    }
    expect(wire.written).toBe("x".repeat(10));
    clock.advance(14_999);
    expect(wire.written).not.toContain(PING);
    clock.advance(1);
    expect(wire.written).toBe("x".repeat(10) + PING);
    client.close();
  });

  it("takes what was passed on for output, and what was not for silence", () => {
    const wire = new Wire();
    const { client, clock } = streamTo(wire);
    client.begin([]);
    clock.advance(10_000);
    expect(client.pass(Buffer.from("(one)"), 1, 4, clock.monotonic())).toBe(true);
    clock.advance(14_999);
    expect(wire.written).toBe("one");
    wire.keepsUp = false;
    expect(client.pass(Buffer.from("(two)"), 1, 4, clock.monotonic())).toBe(false);
    clock.advance(1);
    expect(wire.written).toBe(`one${PING}`);
    client.close();
  });

  it("never pings where that is off", () => {
    const wire = new Wire();
    const { clock } = streamTo(wire, null);
    clock.advance(10_000_000);
    expect(wire.head).toBeNull();
    expect(clock.timers).toBe(0);
  });

  it("tells whether the client keeps up", () => {
    const wire = new Wire();
    const { client } = streamTo(wire);
    expect(client.write(Buffer.from("a"))).toBe(true);
    wire.keepsUp = false;
    expect(client.write(Buffer.from("a"))).toBe(false);
    client.close();
  });

  it.each<[string, (client: ClientStream) => void, string]>([
    ["well", (client) => client.end(), ""],
    ["with last words", (client) => client.end(Buffer.from("data: [DONE]\n\n")), "data: [DONE]\n\n"],
    [
      "with an error",
      (client) => client.fail(new GatewayError("provider_timeout", "slow"), "req_1"),
      "provider_timeout",
    ],
  ])("ends %s, and leaves no timer and no ping behind", (_name, end, words) => {
    const wire = new Wire();
    const { client, clock } = streamTo(wire);
    client.begin([]);
    end(client);
    expect(wire.ended).toBe(true);
    expect(wire.written).toContain(words);
    const said = wire.written;
    clock.advance(1_000_000);
    expect(wire.written).toBe(said);
    expect(clock.timers).toBe(0);
  });

  it("says an error in-band as exactly one event and the end mark, also right behind a ping", () => {
    const wire = new Wire();
    const { client, clock } = streamTo(wire);
    clock.advance(15_000);
    client.fail(new GatewayError("all_providers_failed", "no"), "req_1");
    const events = wire.written.split("\n\n").filter((event) => event !== "");
    expect(events).toHaveLength(3);
    expect(JSON.parse((events[1] ?? "").replace(/^data: /, ""))).toMatchObject({
      error: { code: "all_providers_failed" },
    });
    expect(events[2]).toBe("data: [DONE]");
  });

  it("closed before anything was said says nothing at all", () => {
    const wire = new Wire();
    const { client, clock } = streamTo(wire);
    client.close();
    client.close();
    clock.advance(100_000);
    expect([wire.head, clock.timers]).toEqual([null, 0]);
  });
});
