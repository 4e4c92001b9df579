import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SlowStreamMeter } from "./slow-stream.ts";

const CONFIG = { tokensPerSecond: 5, windowMs: 10_000 };

/** Feeds `perSecond` tokens a second from `from` to `to`, in steps of 100 ms. */
function feed(meter: SlowStreamMeter, perSecond: number, from: number, to: number): void {
  for (let now = from; now < to; now += 100) meter.add(perSecond / 10, now);
}

describe("a stream is slow", () => {
  it("when a whole window brought less than its rate, and not before there was one", () => {
    const meter = new SlowStreamMeter(CONFIG, 1_000);
    feed(meter, 1, 1_000, 11_000);
    expect(meter.isSlow(10_999)).toBe(false);
    expect(meter.isSlow(11_000)).toBe(true);
  });

  it("not at its rate, and not while it is over it", () => {
    const meter = new SlowStreamMeter(CONFIG, 0);
    feed(meter, 5.5, 0, 40_000);
    for (let now = 10_000; now <= 40_000; now += 500) expect(meter.isSlow(now)).toBe(false);
  });

  it("when it slows down, a window later, and no longer when it recovers", () => {
    const meter = new SlowStreamMeter(CONFIG, 0);
    feed(meter, 50, 0, 20_000);
    expect(meter.isSlow(20_000)).toBe(false);
    feed(meter, 1, 20_000, 32_000);
    expect(meter.isSlow(32_000)).toBe(true);
    feed(meter, 50, 32_000, 34_000);
    expect(meter.isSlow(34_000)).toBe(false);
  });

  it("when it is silent, though nothing is added", () => {
    const meter = new SlowStreamMeter(CONFIG, 0);
    feed(meter, 50, 0, 1_000);
    expect(meter.isSlow(10_000)).toBe(false);
    expect(meter.isSlow(12_000)).toBe(true);
  });

  it("not for the time in which its client does not read", () => {
    const meter = new SlowStreamMeter(CONFIG, 0);
    feed(meter, 50, 0, 9_000);
    meter.pause(9_000);
    expect(meter.isSlow(500_000)).toBe(false);
    meter.resume(500_000);
    expect(meter.isSlow(502_000)).toBe(false);
    feed(meter, 50, 500_000, 505_000);
    expect(meter.isSlow(505_000)).toBe(false);
    expect(meter.isSlow(520_000)).toBe(true);
  });

  it("asks to be looked at when its first window ends, and then by parts of one", () => {
    const meter = new SlowStreamMeter(CONFIG, 500);
    expect(meter.nextLookMs(500)).toBe(10_000);
    expect(meter.nextLookMs(10_000)).toBe(500);
    expect(meter.nextLookMs(10_500)).toBe(1_000);
  });

  it("just when the tokens of its last ten parts and the one that fills are too few", () => {
    const chunk = fc.record({ after: fc.nat(1_500), tokens: fc.nat(30) });
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 80 }), (chunks) => {
        const meter = new SlowStreamMeter(CONFIG, 0);
        const came: { at: number; tokens: number }[] = [];
        let now = 0;
        for (const { after, tokens } of chunks) {
          now += after;
          meter.add(tokens, now);
          came.push({ at: now, tokens });
          const part = (at: number): number => Math.floor(at / 1_000);
          const recent = came.filter(({ at }) => part(now) - part(at) <= 10);
          const sum = recent.reduce((total, each) => total + each.tokens, 0);
          expect(meter.isSlow(now)).toBe(now >= 10_000 && sum < 50);
        }
      }),
    );
  });
});
