import { expect, it } from "vitest";
import { systemRandom } from "./random.ts";

it("gives the bytes asked for, the caller's own, across refills of its pool", () => {
  const random = systemRandom();
  const seen = new Set<string>();
  const kept: { bytes: Uint8Array; was: string }[] = [];
  // 16 does not divide the pool evenly together with 24, so refills fall in the middle.
  for (let i = 0; i < 3_000; i++) {
    const bytes = random.bytes(i % 2 === 0 ? 16 : 24);
    expect(bytes.length).toBe(i % 2 === 0 ? 16 : 24);
    const was = Buffer.from(bytes).toString("hex");
    expect(was).not.toMatch(/^0{16}/);
    seen.add(was);
    kept.push({ bytes, was });
  }
  expect(seen.size).toBe(3_000);
  for (const { bytes, was } of kept) expect(Buffer.from(bytes).toString("hex")).toBe(was);
});

it("spreads over all byte values", () => {
  const random = systemRandom();
  const counts = new Array<number>(256).fill(0);
  for (let i = 0; i < 4_096; i++) for (const byte of random.bytes(64)) counts[byte] = (counts[byte] ?? 0) + 1;
  // 262,144 bytes, 1,024 a value expected, standard deviation 32: 300 away is beyond chance.
  for (const count of counts) expect(Math.abs(count - 1_024)).toBeLessThan(300);
});

it("gives floats in [0, 1)", () => {
  const random = systemRandom();
  for (let i = 0; i < 1_000; i++) {
    const value = random.float();
    expect(value >= 0 && value < 1).toBe(true);
  }
});
