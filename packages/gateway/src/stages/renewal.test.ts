import { expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { Cancel } from "../core/cancel.ts";
import type { AttemptRecord } from "./attempt-record.ts";
import type { DataPlane } from "./plane.ts";
import { type RenewalTerms, renewal } from "./renewal.ts";

it("a client that leaves while its call waits for another credential has left, and nothing has failed", async () => {
  const clock = new VirtualClock();
  const record = {
    failure: { class: "auth_failed" },
    credential: { use: { generation: 1 } },
    attempt: { headers: {} },
    hop: { provider: { authenticator: { refused: () => new Promise<boolean>(() => {}) } } },
  } as unknown as AttemptRecord;
  const terms = { visit: { waitedMs: 0 }, renewed: false, mayWait: true, remainingMs: 60_000 } as RenewalTerms;
  const cancel = new Cancel();
  const waiting = renewal({ clock } as unknown as DataPlane, record, terms, cancel);
  cancel.cancel("client_left");
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  expect(clock.timers).toBe(0);
});
