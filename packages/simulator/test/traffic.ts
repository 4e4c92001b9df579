import { existsSync, readFileSync } from "node:fs";
import type { Loose } from "./kit.ts";

const FOLDER = process.env.SLUICEGATE_TRAFFIC_DIR ?? new URL("../../../../shared/traffic", import.meta.url).pathname;

/** The recorded exchanges of a file, or null where the recordings are not there. */
export function records(file: string): Loose[] | null {
  const path = `${FOLDER}/${file}`;
  if (!existsSync(path)) return null;
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** The paths of all members of a value with the types at their ends, list places left out: `usage.input_tokens:number`. */
export function shapesOf(value: unknown, at = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => shapesOf(item, `${at}[]`));
  if (typeof value !== "object" || value === null) return [`${at}:${value === null ? "null" : typeof value}`];
  return Object.entries(value).flatMap(([name, member]) => shapesOf(member, at === "" ? name : `${at}.${name}`));
}
