import { spawn } from "node:child_process";
import type { AskGate, GateRequest, GateVerdict } from "./config/config-store.ts";
import type { Clock, Timer } from "./core/clock.ts";

/** Of what a gate says, in bytes; the end of a command's output, where its verdict stands. */
const OUTPUT_BYTES_MAX = 64 * 1024;
/** Of a reason, in characters. */
const REASON_CHARS_MAX = 300;
/** For what a command has left to say once it has ended, ms. */
const LAST_WORDS_MS = 1_000;

/**
 * Asks `gateway.gate`. A command gets the question as JSON on its standard input, a webhook as the body of a POST; yes is an exit
 * code of 0 or a 2xx, unless the answer is JSON with `allow: false`. Everything else is no, silence included.
 */
export function askGates(clock: Clock): AskGate {
  return async (request, signal) => {
    const limit = new AbortController();
    const timer = clock.after(request.gate.timeoutMs, () => limit.abort());
    try {
      const ask = request.gate.kind === "command" ? runCommand : postQuestion;
      return await ask(request, AbortSignal.any([signal, limit.signal]), clock);
    } catch (error) {
      if (limit.signal.aborted) return no(`no answer within ${request.gate.timeoutMs / 1_000}s`);
      return no(`it cannot be asked (${codeOf(error)})`);
    } finally {
      timer.cancel();
    }
  };
}

function runCommand({ gate, question, folder }: GateRequest, signal: AbortSignal, clock: Clock): Promise<GateVerdict> {
  if (gate.kind !== "command") throw new TypeError("a command is wanted");
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    // A group of its own, so that what the command starts ends with it.
    const child = spawn(gate.command, { shell: true, cwd: folder, detached: true, stdio: "pipe" });
    const [out, err] = [tailOf(child.stdout), tailOf(child.stderr)];
    let waiting: Timer | null = null;
    const end = (settle: () => void): void => {
      signal.removeEventListener("abort", kill);
      waiting?.cancel();
      settle();
    };
    const kill = (): void => {
      killGroup(child.pid);
      end(() => reject(signal.reason));
    };
    signal.addEventListener("abort", kill, { once: true });
    child.once("error", (error) => end(() => reject(error)));
    child.once("close", (code) => end(() => resolve(verdictOf(code, out(), err()))));
    child.once("exit", (code) => {
      // Something left running in the background may hold the pipes open.
      waiting = clock.after(LAST_WORDS_MS, () => {
        killGroup(child.pid);
        end(() => resolve(verdictOf(code, out(), err())));
      });
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(JSON.stringify(question));
  });
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

function verdictOf(code: number | null, out: string, err: string): GateVerdict {
  if (code === 0) return verdictIn(out);
  return no(sentence(`exit code ${code ?? "none"}`, reasonIn(out) ?? lastLine(err) ?? lastLine(out)));
}

async function postQuestion({ gate, question }: GateRequest, signal: AbortSignal): Promise<GateVerdict> {
  if (gate.kind !== "webhook") throw new TypeError("a webhook is wanted");
  const response = await fetch(gate.url.reveal(), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(question),
    redirect: "error",
    signal,
  });
  const text = await bodyOf(response);
  if (response.ok) return verdictIn(text);
  return no(sentence(`status ${response.status}`, reasonIn(text)));
}

async function bodyOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    parts.push(part);
    bytes += part.byteLength;
    if (bytes > OUTPUT_BYTES_MAX) break;
  }
  return Buffer.concat(parts).toString("utf8");
}

/** Keeps the end of a stream; gives it as text. */
function tailOf(stream: NodeJS.ReadableStream): () => string {
  let tail = Buffer.alloc(0);
  stream.on("data", (part: Buffer) => {
    tail = Buffer.concat([tail, part]).subarray(-OUTPUT_BYTES_MAX);
  });
  return () => tail.toString("utf8");
}

function verdictIn(text: string): GateVerdict {
  const said = jsonIn(text);
  return said?.["allow"] === false ? no(reasonIn(text) ?? "it said `allow: false`") : { allow: true };
}

function reasonIn(text: string): string | null {
  const reason = jsonIn(text)?.["reason"];
  return typeof reason === "string" && reason.trim() !== "" ? plain(reason) : null;
}

function jsonIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function lastLine(text: string): string | null {
  return (
    text
      .split("\n")
      .map(plain)
      .findLast((line) => line !== "") ?? null
  );
}

/** Without what a terminal or a log would take for its own. */
function plain(text: string): string {
  return text
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, REASON_CHARS_MAX);
}

function sentence(what: string, why: string | null): string {
  return why === null ? what : `${what}: ${why}`;
}

function no(reason: string): GateVerdict {
  return { allow: false, reason };
}

function codeOf(error: unknown): string {
  const { code, cause, name } = error as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException };
  return code ?? cause?.code ?? name;
}
