// Child processes pinned to a core, what CPU and memory they use, and their end. Linux only: it reads /proc.
import { spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const END_MS = 15_000;
const TICK_MS = 10;
const children = new Set();

/** Core of the load generator and the upstream, and the core of the proxy under test. */
export const LOAD_CORE = 0;
export const PROXY_CORE = 1;

/**
 * Starts a child on one core, its output appended to `log`. It is told to end when this process ends, however that
 * happens. With `ipc` it has a message channel.
 */
export function start({ name, core, command, args, log, env = {}, cwd, ipc = false }) {
  const fd = openSync(log, "a");
  const pinned = ["--pdeathsig", "TERM", "taskset", "-c", String(core), command, ...args];
  const child = spawn("setpriv", pinned, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", fd, fd, ...(ipc ? ["ipc"] : [])],
  });
  closeSync(fd);
  child.label = name;
  child.log = log;
  children.add(child);
  child.ended = new Promise((resolve) => {
    child.once("exit", resolve);
    child.once("error", resolve);
  });
  child.ended.then(() => children.delete(child));
  return child;
}

/** Asks a child to end and waits; one that does not is killed. */
export async function end(child, signal = "SIGTERM") {
  if (!children.has(child)) return;
  child.kill(signal);
  const late = setTimeout(() => child.kill("SIGKILL"), END_MS);
  await child.ended;
  clearTimeout(late);
}

/** Ends whatever this process started. */
async function endAll() {
  await Promise.all([...children].map((child) => end(child)));
}

/** Runs `work` and ends all children after it, also when it fails or is interrupted. */
export async function withChildren(work) {
  let interrupted = false;
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => {
      interrupted = true;
      process.stderr.write(`\n${signal}: ending what was started\n`);
      const leave = () => process.exit(130);
      endAll().then(leave, leave);
    });
  }
  try {
    await work();
  } catch (error) {
    // What fails now fails because its processes are being ended.
    if (!interrupted) throw error;
    await new Promise(() => {});
  } finally {
    await endAll();
  }
}

/** Pins this process, with the threads it has, to a core. */
export async function pinSelf(core) {
  const child = spawn("taskset", ["-a", "-cp", String(core), String(process.pid)], { stdio: "ignore" });
  await new Promise((resolve, reject) => child.once("error", reject).once("exit", resolve));
}

/** Waits until `ready()` is true; fails, with the end of the child's output, when the child ends or time is up. */
export async function untilReady(child, ready, ms = 30_000) {
  const deadline = Date.now() + ms;
  while (!(await ready())) {
    if (!children.has(child)) throw new Error(`${child.label} ended at once:\n${tail(child.log)}`);
    if (Date.now() > deadline) throw new Error(`${child.label} is not ready after ${ms} ms:\n${tail(child.log)}`);
    await sleep(50);
  }
}

/** A process and its children. */
export function family(pid) {
  const pids = [pid];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const fields = statFields(entry);
    if (fields && Number(fields[1]) === pid) pids.push(Number(entry));
  }
  return pids;
}

/** CPU time that processes have used, all threads, in nanoseconds. Exact while they sleep. */
export function cpuNs(pids) {
  return pids.reduce((sum, pid) => sum + processCpuNs(pid), 0);
}

/** CPU time of a process's first thread, in nanoseconds: in Node.js, the one that runs the event loop. */
export function mainThreadNs(pid) {
  return threadNs(pid, pid);
}

/** Waits until the processes have been nearly idle for a while: what a request leaves to be done later belongs to it. */
export async function settled(pids, msMax = 10_000) {
  const deadline = Date.now() + msMax;
  let quiet = 0;
  while (quiet < 4 && Date.now() < deadline) {
    const before = cpuNs(pids);
    await sleep(100);
    quiet = cpuNs(pids) - before < 2_000_000 ? quiet + 1 : 0;
  }
}

/** Resident memory in MB (10⁶ bytes) of all the processes, and the most it has been. */
export function memoryMb(pids) {
  const read = (pid, field) => {
    const line = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return (Number(line?.[1] ?? 0) * 1024) / 1e6;
  };
  const sum = (field) => pids.reduce((total, pid) => total + read(pid, field), 0);
  return { rss: sum("VmRSS"), peak: sum("VmHWM") };
}

/** Milliseconds each core has been busy, and those the hypervisor took, since boot. Steps of 10 ms. */
export function coreMs() {
  const lines = readFileSync("/proc/stat", "utf8").split("\n");
  return lines
    .filter((line) => /^cpu\d/.test(line))
    .map((line) => {
      const [user, nice, system, , , irq, softIrq, steal] = line.trim().split(/\s+/).slice(1).map(Number);
      return { busy: (user + nice + system + irq + softIrq) * TICK_MS, steal: steal * TICK_MS };
    });
}

function processCpuNs(pid) {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      sum += threadNs(pid, thread);
    } catch {
      // The thread has just ended.
    }
  }
  if (sum > 0) return sum;
  // A kernel without schedstat: steps of 10 ms.
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS * 1e6;
}

function threadNs(pid, thread) {
  return Number(readFileSync(join("/proc", String(pid), "task", String(thread), "schedstat"), "latin1").split(" ")[0]);
}

/** Fields of /proc/PID/stat after the name: [0] is the state, [1] the parent. Null when it has ended. */
function statFields(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

function tail(file) {
  return readFileSync(file, "utf8").trim().split("\n").slice(-15).join("\n");
}
