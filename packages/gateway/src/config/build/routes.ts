import { LIMITS } from "../../core/limits.ts";
import type { Problems } from "../problems.ts";
import { type RouteInput, routeSchema } from "../schema/routes.ts";
import type { Route, Snapshot } from "../snapshot.ts";
import { nodeAt } from "../yaml/node.ts";
import { drop, type Entry, errorIn, warnIn } from "./entry.ts";

/**
 * Says which deployment an entry of a chain means: its name, `left out` when it was dropped for want of a secret,
 * null when it means nothing (and that has been told).
 */
export type FindDeployment = (written: string, entry: Entry<RouteInput>, index: number) => string | "left out" | null;

/** A route ready for use; null when nothing of its chain is left, and then it is dropped. */
export function buildRoute(
  entry: Entry<RouteInput>,
  input: RouteInput,
  find: FindDeployment,
  problems: Problems,
): Route | null {
  const chain = chainOf(entry, input, find, problems);
  checkTimes(entry, input, problems);
  if (chain.length === 0) {
    if (!problems.hasErrors()) drop(entry, "no deployment of its chain is left", problems);
    return null;
  }
  return { alias: entry.name, chain, ...settingsOf(input) };
}

/** What holds for `provider/model` names that no route lists. */
export function rawRoute(): Snapshot["rawRoute"] {
  return settingsOf(routeSchema.parse({ chain: ["any"] }));
}

function chainOf(entry: Entry<RouteInput>, input: RouteInput, find: FindDeployment, problems: Problems): string[] {
  const chain: string[] = [];
  for (const [i, written] of input.chain.entries()) {
    const name = find(written, entry, i);
    if (name === null) continue;
    if (name === "left out") {
      warnIn(entry, ["chain", i], `\`${written}\` leaves the chain, because it was left out`, problems);
    } else if (chain.includes(name)) {
      errorIn(entry, ["chain", i], `\`${name}\` stands in this chain twice`, problems);
    } else {
      chain.push(name);
    }
  }
  return chain;
}

function checkTimes(entry: Entry<RouteInput>, { timeouts, retries, chain }: RouteInput, problems: Problems): void {
  const { hop, total, stream_max: streamMax } = timeouts;
  if (hop !== undefined && total !== undefined && hop > total) {
    errorIn(entry, ["timeouts", "hop"], "`hop` is longer than `total`, which bounds the whole chain", problems);
  }
  const first = total ?? hop;
  if (first !== undefined && first > streamMax) {
    const key = total === undefined ? "hop" : "total";
    errorIn(
      entry,
      ["timeouts", key],
      `\`${key}\` is longer than \`stream_max\`, which bounds the whole stream`,
      problems,
    );
  }
  if (retries.base > retries.cap) {
    errorIn(entry, ["retries", "base"], "`base` is longer than `cap`, the longest back-off", problems);
  }
  const calls = retries.attempts * chain.length;
  if (nodeAt(entry.node, ["retries", "attempts"]) && calls > LIMITS.attemptsMax) {
    const message = `${chain.length} deployments × ${retries.attempts} attempts are ${calls} calls; a request makes at most ${LIMITS.attemptsMax}`;
    warnIn(entry, ["retries", "attempts"], message, problems);
  }
}

function settingsOf(input: RouteInput): Snapshot["rawRoute"] {
  const { timeouts, retries } = input;
  return {
    fallback: input.fallback,
    timeouts: { hopMs: timeouts.hop ?? null, totalMs: timeouts.total ?? null, streamMaxMs: timeouts.stream_max },
    retries: { attempts: retries.attempts, baseMs: retries.base, capMs: retries.cap, budget: retries.budget },
    keepaliveMs: input.keepalive,
    dropUnsupported: input.drop_unsupported,
  };
}
