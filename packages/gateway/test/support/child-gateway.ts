import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ADMIN_KEY } from "./gateway.ts";

const root = dirname(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))));

/** The compiled gateway, as an installed one runs. */
const MAIN = join(root, "packages", "gateway", "dist", "main.js");

/** The shim that a clone is used through. */
export const SHIM = join(root, "bin", "sluicegate.js");

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** What a child process is started with. Its environment holds PATH and what is given here, nothing of the test's own. */
export interface ChildOptions {
  args: readonly string[];
  cwd: string;
  variables?: Record<string, string>;
  script?: string;
  /** A descriptor that its standard output goes to, instead of to the test. */
  stdout?: number;
}

/** A child process and all that it says. */
export interface Child {
  readonly process: ChildProcess;
  stdout(): string;
  stderr(): string;
  readonly exited: Promise<Exit>;
  /** Sends a signal and resolves when the process is gone. */
  kill(signal: NodeJS.Signals): Promise<Exit>;
}

/** A gateway that runs as a process of its own. */
export interface ChildGateway extends Child {
  readonly url: string;
  /** Asks the control plane as an admin. */
  admin(path: string): Promise<Response>;
}

const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** Starts a script of this repository with node. */
export function startChild({ args, cwd, variables = {}, script = MAIN, stdout }: ChildOptions): Child {
  const child = spawn(process.execPath, [script, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: cwd, ...variables },
    stdio: ["ignore", stdout ?? "pipe", "pipe"],
  });
  children.add(child);
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.setEncoding("utf8").on("data", (text: string) => {
      said[stream] += text;
    });
  }
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    // `close` and not `exit`: by then everything it said has been read.
    child.once("close", (code, signal) => {
      children.delete(child);
      resolve({ code, signal });
    });
  });
  return {
    process: child,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    exited,
    kill(signal) {
      child.kill(signal);
      return exited;
    },
  };
}

/** Runs one command of the command line to its end. */
export async function runCommand(options: ChildOptions): Promise<{ code: number | null; out: string; err: string }> {
  const child = startChild(options);
  const { code } = await child.exited;
  return { code, out: child.stdout(), err: child.stderr() };
}

/** Starts `sluicegate serve …` and resolves once it says where it serves. Fails with what it said when it ends before. */
export async function startChildGateway(options: ChildOptions): Promise<ChildGateway> {
  const variables = { SLUICEGATE_ADMIN_KEY: ADMIN_KEY, ...options.variables };
  const child = startChild({ ...options, variables, args: ["serve", ...options.args] });
  const url = await new Promise<string>((resolve, reject) => {
    child.process.stdout?.on("data", () => {
      const found = /Sluicegate is serving on (\S+)\n[\s\S]*\n$/.exec(child.stdout())?.[1];
      if (found) resolve(found);
    });
    void child.exited.then(({ code, signal }) =>
      reject(new Error(`the gateway ended (${code ?? signal}): ${child.stdout()}${child.stderr()}`)),
    );
  });
  const admin = (path: string): Promise<Response> =>
    fetch(`${url}${path}`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
  return { ...child, url, admin };
}

/** A folder for one test's files; the returned function removes it. */
export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "sluicegate-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Fails early, and says why, where nothing has been compiled. */
export function expectBuilt(): void {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: run \`npm run build\``);
}
