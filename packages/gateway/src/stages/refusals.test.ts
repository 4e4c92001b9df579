import type { RequestRow } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { RefusalMeter } from "./refusals.ts";

function meter(): { clock: VirtualClock; refusals: RefusalMeter; rows: RequestRow[] } {
  const clock = new VirtualClock();
  const rows: RequestRow[] = [];
  return { clock, rows, refusals: new RefusalMeter(clock, (row) => rows.push(row), 60_000) };
}

/** As much of a row as the meter looks at. */
function refusal(id: number, key = "k", code = "invalid_request"): RequestRow {
  return { request_id: `req_${id}`, key_id: key, error_code: code, repeated: 1 } as RequestRow;
}

describe("RefusalMeter", () => {
  it("writes ten rows of a key and code, and one for the rest when the minute is over", () => {
    const { clock, refusals, rows } = meter();
    for (let i = 0; i < 25; i++) refusals.record(refusal(i));
    expect(rows.map(({ repeated }) => repeated)).toEqual(Array.from({ length: 10 }, () => 1));
    clock.advance(60_000);
    expect(rows).toHaveLength(11);
    expect(rows[10]).toMatchObject({ request_id: "req_24", repeated: 15 });
  });

  it("begins anew after each minute, and writes nothing where nothing was counted", () => {
    const { clock, refusals, rows } = meter();
    for (let minute = 0; minute < 3; minute++) {
      for (let i = 0; i < 10; i++) refusals.record(refusal(i));
      clock.advance(60_000);
    }
    expect(rows).toHaveLength(30);
    expect(clock.timers).toBe(0);
  });

  it("keeps keys and codes apart", () => {
    const { clock, refusals, rows } = meter();
    for (let i = 0; i < 11; i++) {
      refusals.record(refusal(i, "a"));
      refusals.record(refusal(i, "b"));
      refusals.record(refusal(i, "a", "model_not_found"));
    }
    clock.advance(60_000);
    expect(rows).toHaveLength(33);
  });

  it("loses nothing when it is closed, or when there are too many keys", () => {
    const { refusals, rows } = meter();
    for (let i = 0; i < 12; i++) refusals.record(refusal(i));
    for (let i = 0; i < 10_000; i++) refusals.record(refusal(i, `other-${i}`));
    expect(rows.find(({ repeated }) => repeated === 2)?.key_id).toBe("k");
    for (let i = 0; i < 12; i++) refusals.record(refusal(i));
    refusals.close();
    expect(rows.reduce((sum, { repeated }) => sum + repeated, 0)).toBe(10_024);
  });
});
