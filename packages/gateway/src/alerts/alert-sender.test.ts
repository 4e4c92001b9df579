import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { ScriptedTransport } from "../../test/support/scripted-transport.ts";
import { seeded } from "../../test/support/seeded.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import type { AlertTarget } from "../config/snapshot.ts";
import type { AlertKind } from "../core/alert-kinds.ts";
import { Secret } from "../core/secret.ts";
import type { Alert } from "./alert.ts";
import { AlertSender } from "./alert-sender.ts";
import { ALERT_BOUNDS } from "./bounds.ts";

const HOUR = 3_600_000;
const WEBHOOK = "https://hooks.example/T000/secret?x=1";

let clock: VirtualClock;
let transport: ScriptedTransport;
let warnings: Record<string, unknown>[];
let infos: number;
let sender: AlertSender;
let status: number | "hang" | "reset";

beforeEach(() => {
  clock = new VirtualClock();
  warnings = [];
  infos = 0;
  status = 200;
  transport = new ScriptedTransport((call) => {
    if (status === "reset") call.sent().error("reset");
    else if (status !== "hang") call.sent().headers(status).data("ok").end();
  });
  sender = new AlertSender({
    ...{ clock, transport, random: { bytes: () => new Uint8Array(), float: seeded(1).float } },
    log: {
      info: () => {
        infos++;
      },
      warn: (message, facts = {}) => warnings.push({ message, ...facts }),
    },
  });
  sender.follow([target()]);
});

function target(changes: Partial<AlertTarget> = {}): AlertTarget {
  return { url: new Secret(WEBHOOK, "env:HOOK"), format: "json", kinds: "*", ...changes };
}

function alert(changes: Partial<Alert> = {}): Alert {
  return { kind: "breaker_opened", subject: "big", deployment: "big", text: "the circuit of big is open", ...changes };
}

function bodies(): Record<string, unknown>[] {
  return transport.calls.map(({ request }) => JSON.parse(String(request.body)));
}

const states = (): unknown[] => bodies().map(({ state }) => state);

describe("a message", () => {
  it("is JSON of the documented shape, posted to the target", () => {
    sender.raise(alert({ tenant: "acme", value: 5, threshold: 3 }));
    const [{ request } = transport.last] = transport.calls;
    expect(request).toMatchObject({ origin: "https://hooks.example", method: "POST", path: "/T000/secret?x=1" });
    expect(bodies()).toEqual([
      {
        ...{ kind: "breaker_opened", state: "firing", at: "2026-11-29T00:00:00.000Z", tenant: "acme" },
        ...{ deployment: "big", value: 5, threshold: 3, text: "the circuit of big is open" },
      },
    ]);
  });

  it("is one line of text for Slack, whose markup is taken out of it", () => {
    sender.follow([target({ format: "slack" })]);
    sender.raise(alert({ text: "<!channel> a & b" }));
    expect(bodies()).toEqual([{ text: "firing breaker_opened: &lt;!channel&gt; a &amp; b" }]);
  });

  it("goes to the targets that want its kind", () => {
    sender.follow([
      target({ kinds: ["model_drift"] }),
      target({ url: new Secret("http://127.0.0.1:1/other", "literal") }),
    ]);
    sender.raise(alert());
    sender.raise(alert({ kind: "model_drift" }));
    expect(transport.calls.map(({ request }) => request.path)).toEqual(["/other", "/T000/secret?x=1", "/other"]);
  });
});

describe("how often", () => {
  it("is once an hour while it holds, and once more when it is over", () => {
    sender.raise(alert());
    clock.advance(HOUR - 1);
    sender.raise(alert());
    expect(states()).toEqual(["firing"]);
    clock.advance(1);
    sender.raise(alert());
    sender.resolve("breaker_opened", "big", "closed again");
    sender.resolve("breaker_opened", "big");
    expect(states()).toEqual(["firing", "firing", "resolved"]);
    expect(bodies()[2]).toMatchObject({ deployment: "big", text: "closed again" });
  });

  it("begins anew once it was over", () => {
    sender.raise(alert());
    sender.resolve("breaker_opened", "big");
    sender.raise(alert());
    expect(states()).toEqual(["firing", "resolved", "firing"]);
  });

  it("ends by itself when it is not raised any more, where it is said to", () => {
    sender.raise(alert({ quietMs: HOUR }));
    clock.advance(HOUR - 1);
    sender.raise(alert({ quietMs: HOUR }));
    clock.advance(HOUR - 1);
    expect(states()).toEqual(["firing"]);
    clock.advance(1);
    expect(states()).toEqual(["firing", "resolved"]);
    expect(clock.timers).toBe(0);
  });

  it("is one replica's to tell: another one's firing is known and not sent, and so is its end", () => {
    sender.note(alert());
    sender.forget("breaker_opened", "big");
    sender.resolve("breaker_opened", "big");
    expect(states()).toEqual([]);
    sender.note(alert());
    sender.resolve("breaker_opened", "big");
    expect(states()).toEqual(["resolved"]);
  });

  it("holds for every sequence of events", () => {
    const kinds: AlertKind[] = ["breaker_opened", "model_drift"];
    const event = fc.record({
      act: fc.constantFrom("raise", "raise", "resolve", "reload"),
      kind: fc.constantFrom(...kinds),
      subject: fc.constantFrom("a", "b"),
      laterMs: fc.integer({ min: 0, max: HOUR }),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        for (const kind of kinds) for (const subject of ["a", "b"]) sender.forget(kind, subject);
        transport.calls.length = 0;
        /** When each that holds was last told. */
        const told = new Map<string, number>();
        const expected: string[] = [];
        for (const { act, kind, subject, laterMs } of events) {
          clock.advance(laterMs);
          const key = `${kind} ${subject}`;
          const last = told.get(key);
          if (act === "reload") sender.follow([target({ kinds: [...kinds] })]);
          else if (act === "raise") {
            sender.raise(alert({ kind, subject, text: key }));
            if (last !== undefined && clock.monotonic() - last < HOUR) continue;
            told.set(key, clock.monotonic());
            expected.push(`firing ${key}`);
          } else {
            sender.resolve(kind, subject, key);
            if (told.delete(key)) expected.push(`resolved ${key}`);
          }
        }
        expect(bodies().map(({ state, text }) => `${state} ${text}`)).toEqual(expected);
      }),
    );
  });
});

describe("a webhook that does not work", () => {
  it("is tried a few times, further and further apart, and then told of once", () => {
    status = 503;
    sender.raise(alert());
    let before = clock.monotonic();
    for (const [tries, waitMs] of ALERT_BOUNDS.retryMs.entries()) {
      expect(transport.calls.length).toBe(tries + 1);
      while (transport.calls.length === tries + 1) clock.advance(1);
      const waited = clock.monotonic() - before;
      expect([waited >= waitMs / 2, waited <= waitMs]).toEqual([true, true]);
      before = clock.monotonic();
    }
    clock.advance(HOUR);
    expect(transport.calls.length).toBe(4);
    expect(warnings).toEqual([{ message: "alerts are lost", target: "hooks.example", cause: "it does not take them" }]);
    expect(JSON.stringify(warnings)).not.toContain("secret");
  });

  it("gets what it missed when it works again, in order", () => {
    status = "reset";
    sender.raise(alert());
    sender.resolve("breaker_opened", "big");
    status = 204;
    clock.advance(1_000);
    expect(states()).toEqual(["firing", "firing", "resolved"]);
    expect(sender.pending).toBe(0);
  });

  it("that refuses a message is not asked again", () => {
    status = 404;
    sender.raise(alert());
    clock.advance(HOUR);
    expect(transport.calls.length).toBe(1);
    status = 200;
    sender.resolve("breaker_opened", "big");
    expect(infos).toBe(1);
  });

  it("that hangs is given up by a timeout of our own", () => {
    status = "hang";
    sender.raise(alert());
    const first = transport.last;
    clock.advance(ALERT_BOUNDS.postMs - 1);
    expect(first.aborts).toBe(0);
    clock.advance(1);
    expect(first.aborts).toBe(1);
  });

  it("that answers without end is cut off, and has taken it", () => {
    status = "hang";
    sender.raise(alert());
    transport.last
      .sent()
      .headers(200)
      .data(Buffer.alloc(ALERT_BOUNDS.answerBytesMax + 1));
    expect([transport.last.aborts, sender.pending]).toEqual([1, 0]);
  });

  it("grows nothing, and holds up no other", () => {
    status = "hang";
    sender.follow([target(), target({ url: new Secret("http://127.0.0.1:1/alive", "literal") })]);
    for (let i = 0; i < 10_000; i++) {
      sender.raise(alert({ subject: `d${i}`, text: `d${i}` }));
      for (const call of transport.calls.splice(0)) if (call.request.path === "/alive") call.sent().headers(200).end();
    }
    expect(sender.pending).toBe(ALERT_BOUNDS.queueMax + 1);
    expect(sender.alerts().length).toBe(ALERT_BOUNDS.subjectsMax);
    expect(clock.timers).toBe(1);
    expect(warnings.length).toBe(1);
  });
});

describe("a reload", () => {
  it("keeps what holds and what waits, and drops what waits for a target that went", () => {
    status = "hang";
    sender.raise(alert());
    sender.follow([target({ kinds: ["breaker_opened"] })]);
    expect([transport.last.aborts, sender.pending]).toEqual([0, 1]);
    sender.raise(alert());
    expect(sender.pending).toBe(1);
    sender.follow([]);
    expect([transport.last.aborts, sender.pending]).toEqual([1, 0]);
    sender.follow([target()]);
    sender.resolve("breaker_opened", "big");
    expect(sender.pending).toBe(1);
  });

  it("leaves out a target without a URL", () => {
    sender.follow([target({ url: new Secret("nowhere", "env:HOOK") })]);
    sender.raise(alert());
    expect(transport.calls.length).toBe(0);
    expect(warnings).toMatchObject([{ from: "env:HOOK" }]);
  });
});

it("closes with nothing left behind", () => {
  status = "hang";
  sender.raise(alert({ quietMs: HOUR }));
  sender.close();
  sender.raise(alert({ subject: "other", quietMs: HOUR }));
  sender.follow([target()]);
  expect([transport.calls.length, transport.last.aborts, clock.timers, sender.pending]).toEqual([1, 1, 0, 0]);
});
