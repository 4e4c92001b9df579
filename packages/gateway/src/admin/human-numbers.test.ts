import { expect, it } from "vitest";
import { costText, exactUsd, grouped, humanDuration, shortUsd } from "./human-numbers.ts";

it.each([
  [0, "0 ms"],
  [0.44, "0.4 ms"],
  [840.4, "840 ms"],
  [999.6, "1.00 s"],
  [1_240, "1.24 s"],
  [12_440, "12.4 s"],
  [59_960, "1m 0s"],
  [200_000, "3m 20s"],
  [5 * 3_600_000 + 12 * 60_000, "5h 12m"],
  [3 * 86_400_000 + 4 * 3_600_000, "3d 4h"],
])("%d ms is %s", (ms, text) => {
  expect(humanDuration(ms)).toBe(text);
});

it.each([
  [0, "$0.000000", "$0"],
  [7, "$0.000007", "$0.000007"],
  [1_234, "$0.001234", "$0.0012"],
  [1_500_500, "$1.500500", "$1.5005"],
  [1_234_567_890, "$1,234.567890", "$1,234.57"],
])("%d micro-USD", (microUsd, exact, short) => {
  expect([exactUsd(microUsd), shortUsd(microUsd)]).toEqual([exact, short]);
});

it("says how well a cost is known", () => {
  expect(costText(1_000, "known", shortUsd)).toBe("$0.0010");
  expect(costText(1_000, "estimated", shortUsd)).toBe("~$0.0010");
  expect(costText(0, "unknown", shortUsd)).toBe("unknown");
  expect(grouped(1_234_567)).toBe("1,234,567");
});
