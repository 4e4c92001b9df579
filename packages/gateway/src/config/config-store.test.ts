import { mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../core/clock.ts";
import {
  type AskGate,
  ConfigRefused,
  ConfigStore,
  type GateRequest,
  type GateVerdict,
  type ReloadResult,
} from "./config-store.ts";
import { lastGoodPath } from "./last-good.ts";
import type { LoadOptions } from "./load.ts";
import type { Snapshot } from "./snapshot.ts";
import { type Files, folderWith, optionsFor } from "./test/load-text.ts";

const config = (model: string): string => `providers: { sim: { kind: simulator, api_key: file:key } }
routes: { default: { chain: [sim/${model}] } }
`;

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean();
});

/** A folder with a config, and a store open on it. */
async function openIn(files: Files, rest: Partial<LoadOptions> = {}, told: ReloadResult[] = [], ask?: AskGate) {
  const folder = folderWith({ key: "k1", ...files });
  cleanups.push(folder.remove);
  const dataDir = join(folder.dir, "data");
  const options = { ...optionsFor(folder.dir), dataDir, file: "sluicegate.yaml", ...rest };
  const open = () => ConfigStore.open(options, (result) => told.push(result), ask);
  const write = (name: string, text: string) => writeFileSync(join(folder.dir, name), text);
  const store = await open();
  cleanups.push(() => store.close());
  return { store, open, write, dir: folder.dir, dataDir };
}

const chainOf = (snapshot: Snapshot | undefined): string[] | undefined => snapshot?.routes.get("default")?.chain;

describe("reload", () => {
  test("swaps a good config whole and tells both", async () => {
    const { store, write } = await openIn({ "sluicegate.yaml": config("one") });
    const before = store.current;
    const changes: [Snapshot, Snapshot][] = [];
    const off = store.onChange((next, previous) => {
      expect(store.current).toBe(next);
      changes.push([next, previous]);
    });
    write("sluicegate.yaml", config("two"));
    expect(await store.reload()).toMatchObject({ ok: true, changed: true, problems: [], report: "" });
    expect(chainOf(store.current)).toEqual(["sim/two"]);
    expect(chainOf(before)).toEqual(["sim/one"]);
    expect(changes).toEqual([[store.current, before]]);
    off();
    write("sluicegate.yaml", config("three"));
    await store.reload();
    expect(changes).toHaveLength(1);
  });

  test("keeps the last good config when the new one is bad, and says why", async () => {
    const { store, write } = await openIn({ "sluicegate.yaml": config("one") });
    const before = store.current;
    store.onChange(() => expect.unreachable("nothing changed"));
    write("sluicegate.yaml", config("one").replace("chain", "chian"));
    const result = await store.reload();
    expect(result.ok).toBe(false);
    expect(result.report).toContain(
      "sluicegate.yaml:2:22 error routes.default.chian: unknown key `chian`; did you mean `chain`?",
    );
    expect(store.current).toBe(before);
    expect(store.state).toBe("stale");
    write("sluicegate.yaml", config("one"));
    expect(await store.reload()).toMatchObject({ ok: true, changed: false });
    expect(store.current).toBe(before);
    expect(store.state).toBe("ok");
  });

  test("a file that is gone changes nothing", async () => {
    const { store, dir } = await openIn({ "sluicegate.yaml": config("one") });
    rmSync(join(dir, "sluicegate.yaml"));
    expect(await store.reload()).toMatchObject({ ok: false });
    expect(chainOf(store.current)).toEqual(["sim/one"]);
  });

  test("a secret that was rotated is a change, though the text is the same", async () => {
    const { store, write } = await openIn({ "sluicegate.yaml": config("one") });
    const { revision } = store.current;
    write("key", "k2");
    expect(await store.reload()).toMatchObject({ ok: true, changed: true });
    expect(store.current.providers.get("sim")?.apiKey?.reveal()).toBe("k2");
    expect(store.current.revision).toBe(revision);
  });

  test("reloads go one after the other", async () => {
    const { store, write } = await openIn({ "sluicegate.yaml": config("one") });
    write("sluicegate.yaml", config("two"));
    const results = await Promise.all([store.reload(), store.reload(), store.reload()]);
    expect(results.map(({ changed }) => changed)).toEqual([true, false, false]);
  });

  test("what only a start takes up is said", async () => {
    const { store, write } = await openIn({ "sluicegate.yaml": config("one") });
    write("sluicegate.yaml", `${config("one")}gateway: { listen: "127.0.0.1:9999" }\nledger: { fsync: true }\n`);
    const { problems } = await store.reload();
    expect(problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      "gateway.listen: changed; this takes effect at the next start",
      "ledger: changed; this takes effect at the next start",
    ]);
    write("sluicegate.yaml", `${config("one")}state: redis://:first@h\n`);
    await store.reload();
    write("sluicegate.yaml", `${config("one")}state: redis://:second@h\n`);
    const messages = (await store.reload()).problems.map(({ path, message }) => `${path}: ${message}`);
    expect(messages).toContain("state: changed; this takes effect at the next start");
  });

  test("a listener that throws does not keep the others from hearing", async () => {
    const { store, write } = await openIn({ "sluicegate.yaml": config("one") });
    let heard = 0;
    store.onChange(() => {
      throw new Error("no room");
    });
    store.onChange(() => heard++);
    write("sluicegate.yaml", config("two"));
    expect((await store.reload()).problems.map(({ message }) => message)).toEqual([
      "a part of the gateway did not take up the new config: Error: no room",
    ]);
    expect(heard).toBe(1);
  });
});

describe("a gate", () => {
  const gated = (model: string): string => `${config(model)}gateway: { gate: { command: "true" } }\n`;

  /** A store whose gate answers when it is told to. */
  async function gatedStore() {
    const asked: { request: GateRequest; answer: (verdict: GateVerdict) => void; signal: AbortSignal }[] = [];
    const ask: AskGate = (request, signal) =>
      new Promise((answer) => {
        asked.push({ request, answer, signal });
        signal.addEventListener("abort", () => answer({ allow: false, reason: "ended" }));
      });
    const opened = await openIn({ "sluicegate.yaml": gated("one") }, {}, [], ask);
    return { ...opened, asked };
  }

  test("holds up reloads that change a model, and no renewal of secrets", async () => {
    const { store, write, asked, dir } = await gatedStore();
    write("sluicegate.yaml", gated("two"));
    const reload = store.reload();
    await expect.poll(() => asked.length).toBe(1);
    expect(asked[0]?.request).toMatchObject({ gate: { kind: "command", command: "true" }, folder: dir });
    write("key", "k2");
    expect(await store.renew()).toMatchObject({ ok: true, changed: true });
    expect(store.current.providers.get("sim")?.apiKey?.reveal()).toBe("k2");
    expect(chainOf(store.current)).toEqual(["sim/one"]);
    asked[0]?.answer({ allow: true });
    expect(await reload).toMatchObject({ ok: true, changed: true });
    expect(chainOf(store.current)).toEqual(["sim/two"]);
    expect(store.current.providers.get("sim")?.apiKey?.reveal()).toBe("k2");
    expect(asked).toHaveLength(1);
  });

  test("that says no leaves everything as it is, and is asked again by the next reload", async () => {
    const { store, write, asked } = await gatedStore();
    const before = store.current;
    store.onChange(() => expect.unreachable("nothing changed"));
    write("sluicegate.yaml", gated("two"));
    for (const times of [1, 2]) {
      const reload = store.reload();
      await expect.poll(() => asked.length).toBe(times);
      asked.at(-1)?.answer({ allow: false, reason: "worse" });
      const result = await reload;
      expect(result).toMatchObject({ ok: false, changed: false });
      expect(result.report).toContain("error gateway.gate: the gate does not allow this config");
      expect(result.report).toContain("worse");
      expect([store.current === before, store.state]).toEqual([true, "stale"]);
    }
  });

  test("is ended with the store", async () => {
    const { store, write, asked } = await gatedStore();
    write("sluicegate.yaml", gated("two"));
    const reload = store.reload();
    await expect.poll(() => asked.length).toBe(1);
    store.close();
    expect(asked[0]?.signal.aborted).toBe(true);
    expect(await reload).toMatchObject({ changed: false });
    expect(chainOf(store.current)).toEqual(["sim/one"]);
  });
});

describe("a start", () => {
  test("with a bad config is refused with the report", async () => {
    const opening = openIn({ "sluicegate.yaml": "routes: { default: { chain: [] } }\n" });
    await expect(opening).rejects.toThrow(ConfigRefused);
    await expect(opening).rejects.toThrow(/sluicegate.yaml:1:29 error routes.default.chain: `chain` is empty/);
  });

  test("without its file goes on with the last good config, loudly", async () => {
    const { store, open, dir, dataDir } = await openIn({ "sluicegate.yaml": config("one") });
    expect(store.state).toBe("ok");
    const kept = lastGoodPath(dataDir);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(readFileSync(kept, "utf8")).not.toContain("k1");
    rmSync(join(dir, "sluicegate.yaml"));
    const again = await open();
    cleanups.push(() => again.close());
    expect(chainOf(again.current)).toEqual(["sim/one"]);
    expect(again.state).toBe("last_good");
    expect(again.lastResult.problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^there is no such file: SERVING THE LAST GOOD CONFIG, kept at 2026-11-30T/),
    ]);
    writeFileSync(join(dir, "sluicegate.yaml"), config("two"));
    expect(await again.reload()).toMatchObject({ ok: true, changed: true });
    expect(again.state).toBe("ok");
  });

  test("but a config that is there and bad is refused, and another file's last good is not taken", async () => {
    const { open, write, dir, dataDir } = await openIn({ "sluicegate.yaml": config("one") });
    write("sluicegate.yaml", "nonsense");
    await expect(open()).rejects.toThrow("is not a map");
    const other = { ...optionsFor(dir), dataDir, file: "other.yaml" };
    await expect(ConfigStore.open(other)).rejects.toThrow("other.yaml error: there is no such file");
    rmSync(join(dir, "sluicegate.yaml"));
    writeFileSync(lastGoodPath(dataDir), "{ cut");
    await expect(open()).rejects.toThrow("there is no such file");
  });

  test("with a data dir that takes nothing warns and serves", async () => {
    const { store } = await openIn({ "sluicegate.yaml": config("one"), blocked: "" }, { dataDir: "/dev/null/x" });
    expect(chainOf(store.current)).toEqual(["sim/one"]);
  });
});

describe("watching", () => {
  /** Time runs twenty times as fast, so that the two-second look comes soon. */
  const clock = { ...systemClock, after: (ms: number, fn: () => void) => systemClock.after(ms / 20, fn) };

  async function watched(files: Files) {
    const told: ReloadResult[] = [];
    const opened = await openIn(files, { clock }, told);
    opened.store.watch();
    return { ...opened, told };
  }

  const becomes = (store: ConfigStore, model: string) =>
    expect.poll(() => chainOf(store.current), { timeout: 5_000, interval: 5 }).toEqual([`sim/${model}`]);

  test("a file that is written, replaced, and written again", async () => {
    const { store, write, dir, told } = await watched({ "sluicegate.yaml": config("one") });
    write("sluicegate.yaml", config("two"));
    await becomes(store, "two");
    write("new.yaml", config("three"));
    renameSync(join(dir, "new.yaml"), join(dir, "sluicegate.yaml"));
    await becomes(store, "three");
    write("sluicegate.yaml", config("four"));
    await becomes(store, "four");
    expect(told.every(({ ok }) => ok)).toBe(true);
  });

  test("a bad file is told of, and the next good one taken", async () => {
    const { store, write, told } = await watched({ "sluicegate.yaml": config("one") });
    write("sluicegate.yaml", "- bad\n");
    await expect.poll(() => told.some(({ ok }) => !ok), { timeout: 5_000, interval: 5 }).toBe(true);
    expect(chainOf(store.current)).toEqual(["sim/one"]);
    write("sluicegate.yaml", config("two"));
    await becomes(store, "two");
  });

  test("a secret's file", async () => {
    const { store, write } = await watched({ "sluicegate.yaml": config("one") });
    write("key", "rotated");
    await expect
      .poll(() => store.current.providers.get("sim")?.apiKey?.reveal(), { timeout: 5_000, interval: 5 })
      .toBe("rotated");
  });

  test("a link that is swapped, as Kubernetes does with a ConfigMap", async () => {
    const folder = folderWith({
      "v1/sluicegate.yaml": config("one"),
      "v2/sluicegate.yaml": config("two"),
      "v1/key": "k",
      "v2/key": "k",
    });
    cleanups.push(folder.remove);
    mkdirSync(join(folder.dir, "etc"));
    const link = (target: string, name: string) => symlinkSync(target, join(folder.dir, "etc", name));
    link("../v1", "..data");
    link("..data/sluicegate.yaml", "sluicegate.yaml");
    link("..data/key", "key");
    const store = await ConfigStore.open({ ...optionsFor(folder.dir), clock, file: "etc/sluicegate.yaml" });
    cleanups.push(() => store.close());
    expect(chainOf(store.current)).toEqual(["sim/one"]);
    store.watch();
    link("../v2", "..data_tmp");
    renameSync(join(folder.dir, "etc", "..data_tmp"), join(folder.dir, "etc", "..data"));
    await becomes(store, "two");
  });

  test("ends with close, and so does a reload under way", async () => {
    const timers = new Set<() => void>();
    const counting = {
      ...systemClock,
      after(_: number, fn: () => void) {
        timers.add(fn);
        return { cancel: () => void timers.delete(fn) };
      },
    };
    const { store, write } = await openIn({ "sluicegate.yaml": config("one") }, { clock: counting });
    store.watch();
    expect(timers.size).toBe(1);
    write("sluicegate.yaml", config("two"));
    const underWay = store.reload();
    store.close();
    expect(await underWay).toMatchObject({ changed: false });
    expect(chainOf(store.current)).toEqual(["sim/one"]);
    expect(timers.size).toBe(0);
  });
});
