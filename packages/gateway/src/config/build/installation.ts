import { Secret } from "../../core/secret.ts";
import type { Problems } from "../problems.ts";
import type { AlertInput, FlagsInput } from "../schema/installation.ts";
import type { AlertTarget, FlagsConfig, StateConfig } from "../snapshot.ts";
import { nodeAt } from "../yaml/node.ts";
import { httpUrl } from "./base-url.ts";
import { type Entry, errorIn, warnIn } from "./entry.ts";

/** Who is told of trouble. */
export function alertTargets(entries: readonly Entry<AlertInput>[], problems: Problems): AlertTarget[] {
  return entries.flatMap((entry) => {
    const input = entry.value;
    if (!input) return [];
    const { format, kinds } = input;
    const read = httpUrl(input.url);
    if ("fault" in read) errorIn(entry, ["url"], `\`url\` ${read.fault}`, problems);
    const origin = originOf(entry, ["url"]);
    // Whoever knows the address of a Slack channel's webhook may write there.
    if (origin === null && format === "slack") {
      warnIn(entry, ["url"], "`url` is a literal secret; write env:NAME or file:PATH instead", problems);
    }
    const chosen = kinds.includes("*") ? "*" : [...new Set(kinds)];
    return { url: new Secret(input.url, origin ?? "literal"), format, kinds: chosen };
  });
}

/** Who is asked for feature flags; null: nobody. */
export function flagsOf(entry: Entry<FlagsInput> | null): FlagsConfig | null {
  return entry?.value ?? null;
}

/** Where replicas keep what they share. */
export function stateOf(entry: Entry<string> | null, problems: Problems): StateConfig {
  const written = entry?.value ?? "memory";
  if (entry === null || written === "memory") return { kind: "memory" };
  const fault = redisFault(written);
  const origin = originOf(entry, []);
  if (fault !== null) problems.error(entry.node.at, entry.path, `\`state\` ${fault}`);
  else if (origin === null && /:\/\/[^/]*:[^/]*@/.test(written)) {
    problems.warn(entry.node.at, entry.path, "`state` holds a literal password; write env:NAME or file:PATH instead");
  }
  return { kind: "redis", url: new Secret(written, origin ?? "literal") };
}

const FORMS =
  "is neither `memory` nor a Redis: redis://HOST:PORT, rediss://HOST:PORT, redis+sentinel://HOST,HOST/NAME or redis+cluster://HOST,HOST";
const HOST = String.raw`(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?`;
/** `USER:PASSWORD@` with what is odd in them as `%40` and the like. */
const ACCOUNT = String.raw`(?:[^\s/@]*@)?`;
const ONE = new RegExp(`^rediss?://${ACCOUNT}${HOST}(?:/(\\d{0,5}))?$`);
const CLUSTER = new RegExp(`^rediss?\\+cluster://${ACCOUNT}${HOST}(?:,${HOST})*/?$`);
const SENTINEL = new RegExp(
  `^rediss?\\+sentinel://${ACCOUNT}${HOST}(?:,${HOST})*/([^\\s/?]+)(?:/(\\d{1,5}))?(?:\\?sentinel_password=\\S+)?$`,
);

/** What is wrong with the URL of a shared state, as a predicate that does not repeat it; null when nothing is. */
export function redisFault(url: string): string | null {
  if (ONE.test(url) || CLUSTER.test(url) || SENTINEL.test(url)) return null;
  if (url.startsWith("redis+sentinel://") && new RegExp(`^[^/]*//${ACCOUNT}${HOST}(,${HOST})*/?$`).test(url)) {
    return "names no master: write redis+sentinel://HOST,HOST/NAME";
  }
  return FORMS;
}

function originOf(entry: Entry<unknown>, below: readonly string[]): string | null {
  const node = nodeAt(entry.node, below);
  return node?.kind === "scalar" ? node.origin : null;
}
