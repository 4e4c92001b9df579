import { type Environment, readEnvironment } from "../config/env.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { type Random, systemRandom } from "../core/random.ts";

/** What a command has around it. Tests put their own in its place. */
export interface CliContext {
  /** To stdout, as it is. */
  write(text: string): void;
  /** To stderr, as it is. */
  complain(text: string): void;
  /** Width of the terminal that stdout is; null: it is none, and nothing is cut or coloured. */
  readonly columns: number | null;
  readonly colour: boolean;
  /** Variables and working directory; `.env` is read at the first call. */
  environment(): Environment;
  readonly clock: Clock;
  readonly random: Random;
  /** What the process is to say when it ends: 0 ok, 1 finding or failure, 2 usage. */
  exitWith(code: number): void;
  /** Ends the process at once. */
  exit(code: number): never;
  /** Resolves when the user wants it to stop. */
  untilStopped(): Promise<void>;
}

/** The context of a real process. */
export function processContext(): CliContext {
  const { stdout } = process;
  // `sluicegate requests | head` closes the pipe early, and that is no failure.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  let environment: Environment | undefined;
  const read = (): Environment => {
    environment ??= readEnvironment();
    return environment;
  };
  const columns = stdout.isTTY ? stdout.columns || null : null;
  return {
    write: (text) => void stdout.write(text),
    complain: (text) => void process.stderr.write(text),
    columns,
    colour: columns !== null && !read().get("NO_COLOR"),
    environment: read,
    clock: systemClock,
    random: systemRandom(),
    exitWith: (code) => {
      process.exitCode = code;
    },
    exit: (code) => process.exit(code),
    untilStopped: () =>
      new Promise((resolve) => {
        for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
      }),
  };
}
