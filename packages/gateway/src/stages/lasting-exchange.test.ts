import { expect, it } from "vitest";
import { heldBufferBytes } from "../../test/support/held-bytes.ts";
import { Cancel } from "../core/cancel.ts";
import type { Exchange } from "../http/exchange.ts";
import { LastingExchange } from "./lasting-exchange.ts";

const MIB = 1024 * 1024;

function aLastingExchange(bytesMax: number): LastingExchange {
  const client = { cancel: new Cancel(), headSent: false, begin: () => {}, write: () => true, end: () => {} };
  const exchange = new LastingExchange(client as unknown as Exchange, bytesMax, new Cancel());
  exchange.begin(200, ["content-type", "text/event-stream"]);
  return exchange;
}

it("keeps a stream of small events in about as much memory as they are long", () => {
  const exchange = aLastingExchange(MIB);
  const event = Buffer.from("data: {}\n\n");
  const held = heldBufferBytes(() => {
    // Between two events, other requests have a use for small buffers, too.
    for (let count = 0; count < 20_000; count++) {
      exchange.write(event);
      Buffer.from("x".repeat(1_500));
    }
  });
  expect(held).toBeLessThan(3 * MIB);
  exchange.end(Buffer.from("data: [DONE]\n\n"));
  const recording = exchange.recording();
  expect(recording?.body.toString()).toBe(`${"data: {}\n\n".repeat(20_000)}data: [DONE]\n\n`);
});

it("keeps what it was sent, not what becomes of the memory it was in", () => {
  const exchange = aLastingExchange(100);
  const bytes = Buffer.from("once");
  exchange.write(bytes);
  bytes.fill(0);
  expect(exchange.recording()).toEqual({
    ...{ status: 200, headers: ["content-type", "text/event-stream"] },
    body: Buffer.from("once"),
  });
});

it("keeps up to the bound, and nothing of what is longer", () => {
  const exchange = aLastingExchange(8);
  exchange.write(Buffer.from("12345678"));
  expect(exchange.recording()?.body.toString()).toBe("12345678");
  exchange.write(Buffer.from("9"));
  expect(exchange.recording()).toBeNull();
  exchange.end();
  expect(exchange.recording()).toBeNull();
});
