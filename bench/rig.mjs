// The rig around the proxies: a scratch folder, the upstream and the load generator.
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LOAD_CORE, pinSelf, start } from "./process.mjs";
import { WORK } from "./targets.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** Starts upstream and load generator on their core. `remove()` deletes the scratch folder. */
export async function openRig() {
  const folder = scratchFolder();
  await pinSelf(LOAD_CORE);
  const upstream = helper("upstream", folder);
  const { port } = await new Promise((resolve, reject) => {
    upstream.once("message", resolve);
    upstream.once("exit", () => reject(new Error("the upstream ended at once")));
  });
  const load = helper("load", folder);
  return {
    folder,
    upstreamPort: port,
    pids: [process.pid, upstream.pid, load.pid],
    /** What the upstream has seen so far. */
    counts: async () => (await asker(upstream)({})).counts,
    /** One command of load.mjs. */
    load: async (command, options) => (await asker(load)({ command, options })).result,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A folder of this run; those of runs that ended badly are deleted, when the next one starts. */
function scratchFolder() {
  mkdirSync(WORK, { recursive: true });
  for (const name of readdirSync(WORK)) {
    const pid = /^run-(\d+)$/.exec(name)?.[1];
    if (pid && !existsSync(`/proc/${pid}`)) rmSync(join(WORK, name), { recursive: true, force: true });
  }
  const folder = join(WORK, `run-${process.pid}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  return folder;
}

function helper(name, folder) {
  const args = [join(here, `${name}.mjs`)];
  return start({ name, core: LOAD_CORE, command: process.execPath, args, log: join(folder, `${name}.log`), ipc: true });
}

let lastId = 0;

/** Asks a child one question over IPC. */
function asker(child) {
  return (question) =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      const onExit = () => finish(reject, new Error(`${child.label} has ended`));
      const onMessage = (message) => {
        if (message.id !== id) return;
        if (message.error) finish(reject, new Error(message.error));
        else finish(resolve, message);
      };
      const finish = (how, value) => {
        child.off("message", onMessage);
        child.off("exit", onExit);
        how(value);
      };
      child.on("message", onMessage);
      child.once("exit", onExit);
      child.send({ id, ...question });
    });
}
