import { describe, expect, test } from "vitest";
import { lines, loadText } from "./test/load-text.ts";

describe("limits that promise more than there is", () => {
  const config = (
    limits: string,
    other = "",
    account = "",
  ): string => `providers: { sim: { kind: simulator${account} } }
deployments:
  a: { provider: sim, model: m, region: eu, limits: ${limits} }
  b: { provider: sim, model: ${other} }
routes: { r: { chain: [a, b] } }
tenants: { t: { models: "*" }, u: { models: "*" } }
`;

  test.each([
    ["floors within the limit", "{ tpm: 100, floors: { t: { tpm: 60 }, u: { tpm: 40 } } }", "n", "", []],
    [
      "floors over it",
      "{ tpm: 100, rpm: 9, floors: { t: { tpm: 60, rpm: 1 }, u: { tpm: 41 } } }",
      "n",
      "",
      [
        "3:81 warning deployments.a.limits.floors: the floors promise 101 tpm together, and the limit is 100: not all of them can be kept",
      ],
    ],
    ["one bucket, the same twice", "{ rpm: 5 }", "m, region: eu, limits: { rpm: 5 }", "", []],
    [
      "one bucket, two sizes",
      "{ rpm: 5 }",
      "m, region: eu, limits: { rpm: 6 }",
      "",
      [
        "4:60 warning deployments.b.limits.rpm: 5 holds, not this: another deployment of this provider, model and region, which share their limits, says so",
      ],
    ],
    ["one bucket, each a part of it", "{ rpm: 5 }", "m, region: eu, limits: { tpm: 6 }", "", []],
    ["another region", "{ rpm: 5 }", "m, region: us, limits: { rpm: 6 }", "", []],
    ["one bucket, limits in one place", "{ rpm: 5 }", "m, region: eu", "", []],
    ["an account that gives it all", "{ rpm: 5 }", "n, limits: { rpm: 5 }", ", limits: { rpm: 10 }", []],
    [
      "an account that gives less",
      "{ rpm: 5, tpm: 3 }",
      "n, limits: { rpm: 6, concurrency: 3 }",
      ", limits: { rpm: 10, tpm: 2, concurrency: 3 }",
      [
        "1:53 warning providers.sim.limits.rpm: the deployments of `sim` have limits of 11 rpm together, more than the 10 of the account",
        "1:62 warning providers.sim.limits.tpm: the deployments of `sim` have limits of 3 tpm together, more than the 2 of the account",
      ],
    ],
    [
      "an account, one bucket counted once",
      "{ rpm: 5 }",
      "m, region: eu, limits: { rpm: 5 }",
      ", limits: { rpm: 5 }",
      [],
    ],
  ])("%s", async (_, limits, other, account, warnings) => {
    const loaded = await loadText(config(limits, other, account));
    expect(loaded.snapshot).not.toBeNull();
    expect(lines(loaded)).toEqual(warnings);
  });
});

describe("a route whose time is over before a fallback begins", () => {
  const config = (options: string, first = "", second = ""): string => `providers: { sim: { kind: simulator } }
deployments: { a: { provider: sim, model: a${first} }, b: { provider: sim, model: b${second} } }
routes: { r: { chain: [a, b]${options} } }
`;
  const none = (what: string, ms: string, rest: string): RegExp =>
    new RegExp(`no time is left for a fallback: ${what} may hang ${ms} at \`a\`,${rest} and the whole chain has`);

  test.each<[string, string, string, string, RegExp | null]>([
    ["nothing said", "", "", "", null],
    ["what is usual", ", timeouts: { hop: 15s, total: 60s }", "", ", expected_latency: 5s", null],
    ["a total under the first token", ", timeouts: { total: 10s }", "", "", none("a stream", "10s", "")],
    ["a total just over it", ", timeouts: { total: 10.1s }", "", "", null],
    [
      "a total just over it, and a slow second",
      ", timeouts: { total: 12s }",
      "",
      ", expected_latency: 2s",
      none("a stream", "10s", " `b` is expected to take 2s,"),
    ],
    ["a hop that bounds it", ", timeouts: { hop: 5s, total: 10s }", "", ", expected_latency: 4.9s", null],
    [
      "a patient first",
      "",
      ", timeouts: { first_token: 70s }",
      ", expected_latency: 50s",
      none("a stream", "15s", ".*"),
    ],
    [
      "a hop as long as all",
      ", timeouts: { hop: 60s }",
      ", timeouts: { first_token: 1s }",
      "",
      none("a call without streaming", "60s", ""),
    ],
    ["no fallback", ", fallback: false, timeouts: { total: 10s }", "", "", null],
  ])("%s", async (_, options, first, second, says) => {
    const loaded = await loadText(config(options, first, second));
    expect(loaded.snapshot).not.toBeNull();
    expect(lines(loaded)).toEqual(says === null ? [] : [expect.stringMatching(says)]);
  });

  test("is told at the number that is too small", async () => {
    expect(lines(await loadText(config(", timeouts: { total: 9s }")))[0]).toMatch(
      /^3:50 warning routes.r.timeouts.total: /,
    );
    expect(lines(await loadText(config(", timeouts: { hop: 60s }")))[0]).toMatch(
      /^3:48 warning routes.r.timeouts.hop: /,
    );
  });
});

describe("a queue at deployments that are never full", () => {
  const config = (
    queue: string,
    limits = "",
    account = "",
  ): string => `providers: { sim: { kind: simulator${account} } }
deployments: { a: { provider: sim, model: a${limits} } }
routes: { r: { chain: [a]${queue} } }
`;

  test.each<[string, string, string, string, boolean]>([
    ["nobody asked for it", "", "", "", false],
    ["no limits", ", queue: { max_wait: 1s }", "", "", true],
    ["limits of a deployment", ", queue: { max_wait: 1s }", ", limits: { concurrency: 4 }", "", false],
    ["limits of the account", ", queue: { max_wait: 1s }", "", ", limits: { concurrency: 4 }", false],
    ["limits of another kind", ", queue: { max_wait: 1s }", ", limits: { rpm: 4 }", "", true],
    [
      "limits of what shares its own",
      ", queue: { max_wait: 1s }",
      " }, twin: { provider: sim, model: a, limits: { concurrency: 1 }",
      "",
      false,
    ],
    ["of the kind that is waited for", ", queue: { on: [rate] }", ", limits: { tpm: 4 }", "", false],
    ["a queue that waits for nothing", ", queue: { on: [] }", "", "", false],
  ])("%s", async (_, queue, limits, account, warns) => {
    const loaded = await loadText(config(queue, limits, account));
    const told = lines(loaded).filter((line) => !line.includes("nothing leads to deployment `twin`"));
    expect(told.map((line) => line.includes("routes.r.queue: `queue` waits for nothing"))).toEqual(warns ? [true] : []);
  });
});
