import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseDotenv } from "./dotenv.ts";
import type { ConfigProblem } from "./snapshot.ts";

/** The variables a process was started with. Everything that wants one is handed this; nobody else reads process.env. */
export interface Environment {
  /** Working directory: where `.env` and a config without a path are looked for. */
  readonly cwd: string;
  /** The value, which may be empty, or undefined when it is not set. */
  get(name: string): string | undefined;
  names(): readonly string[];
  /** What was doubtful in `.env`. */
  readonly problems: readonly ConfigProblem[];
  /** The `.env` file, whether it exists or not; absent where none counts. */
  readonly dotenv?: string;
  /** Reads `.env` again. What the process was started with stays, and still stands over it. */
  reread?(): void;
}

/** The real environment over the `.env` file of the working directory. */
export function readEnvironment(cwd: string = process.cwd()): Environment {
  const dotenv = join(cwd, ".env");
  let read = readVariables(dotenv);
  return {
    cwd,
    dotenv,
    get problems() {
      return read.problems;
    },
    get: (name) => read.values.get(name),
    names: () => [...read.values.keys()],
    reread() {
      read = readVariables(dotenv);
    },
  };
}

function readVariables(dotenv: string): { values: Map<string, string>; problems: ConfigProblem[] } {
  const read = readDotenv(dotenv);
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) read.values.set(name, value);
  return read;
}

/** An environment of just these variables. */
export function environmentOf(
  variables: ReadonlyMap<string, string>,
  cwd: string = process.cwd(),
  problems: readonly ConfigProblem[] = [],
): Environment {
  return { cwd, problems, get: (name) => variables.get(name), names: () => [...variables.keys()] };
}

function readDotenv(path: string): { values: Map<string, string>; problems: ConfigProblem[] } {
  try {
    return parseDotenv(readFileSync(path, "utf8"), ".env");
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code ?? "unreadable";
    if (code === "ENOENT") return { values: new Map(), problems: [] };
    const message = `.env cannot be read (${code}), so nothing in it counts`;
    return {
      values: new Map(),
      problems: [{ severity: "warning", file: ".env", line: null, column: null, path: "", message }],
    };
  }
}
