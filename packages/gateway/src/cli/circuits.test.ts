import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KEYS, startControl, type TestControl } from "../admin/fixtures/control.ts";
import { type CliResult, newFolder, runCli } from "./fixtures/run-cli.ts";

const dir = newFolder();
let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(() => control.close());

function run(words: string[], key: string | null = KEYS.operator): Promise<CliResult> {
  const variables: Record<string, string> = key === null ? {} : { SLUICEGATE_ADMIN_KEY: key };
  return runCli(["circuits", ...words, "--url", control.url], { dir, variables });
}

describe("sluicegate circuits", () => {
  it("opens one by hand, lists it with who and why, and resets it", async () => {
    const opened = await run(["open", "openai/gpt-big", "--for", "10m", "--reason", "their status page"]);
    expect(opened).toEqual({
      ...{ code: 0, err: "" },
      out: "the circuit of openai/gpt-big is open until 2026-11-15T12:10:00.000Z\n",
    });
    for (const words of [[], ["list"]]) {
      const { code, out } = await run(words);
      expect(code).toBe(0);
      const [head, first, second] = out.split("\n");
      expect(head).toMatch(/^DEPLOYMENT +CIRCUIT +WHY +COOLS FOR +REQUESTS +ERRORS +P50 +P95 +NOW$/);
      expect(first).toMatch(/^openai\/gpt-big +open +admin key [0-9a-f]{8}: their status page +- +0 +- +- +- +0$/);
      expect(second).toMatch(/^backup +closed +- +- +0 +- +- +- +0$/);
    }
    expect((await run(["reset", "openai/gpt-big"])).out).toBe("the circuit of openai/gpt-big is closed\n");
  });

  it("says all of it as JSON", async () => {
    const state = JSON.parse((await run(["open", "backup", "--json"])).out);
    expect(state).toMatchObject({ name: "backup", circuit: "open", hand: { until: null, reason: null } });
    const { data } = JSON.parse((await run(["--json"])).out);
    expect(data).toContainEqual(state);
    expect((await run(["close", "backup"])).out).toBe("the circuit of backup is closed\n");
  });

  it.each([
    [["open", "backup", "--for", "soon"], KEYS.admin, 2, "for must be"],
    [["open"], KEYS.admin, 2, "missing required argument"],
    [["reset", "backup", "--for", "5m"], KEYS.admin, 2, "unknown option"],
    [["open", "backpu"], KEYS.admin, 1, "there is no deployment"],
    [["open", "backup"], KEYS.viewer, 1, "answers 403"],
    [[], "wrong", 1, "SLUICEGATE_ADMIN_KEY"],
    [[], null, 2, "SLUICEGATE_ADMIN_KEY"],
  ])("ends with what is wrong: %j", async (words, key, code, message) => {
    const result = await run(words, key);
    expect([result.code, result.out]).toEqual([code, ""]);
    expect(result.err).toContain(message);
  });

  it("says where no gateway answers", async () => {
    const surroundings = { dir, variables: { SLUICEGATE_ADMIN_KEY: "x" } };
    const { code, err } = await runCli("circuits --url http://127.0.0.1:1", surroundings);
    expect([code, err]).toEqual([1, expect.stringContaining("no gateway answers at http://127.0.0.1:1")]);
  });
});
