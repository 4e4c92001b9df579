import { didYouMean } from "../nearest.ts";
import type { Path, Problems } from "../problems.ts";
import type { ComplexityInput } from "../schema/experiments.ts";
import type { RouteInput } from "../schema/routes.ts";
import type { CanaryArm, ComplexityBranch, ComplexityConfig, Route } from "../snapshot.ts";
import { keyPlaceAt, nodeAt, placeAt } from "../yaml/node.ts";
import { httpUrl } from "./base-url.ts";
import { chainOf, type FindDeployment } from "./chains.ts";
import { type Entry, errorAtKey, errorIn, warnIn } from "./entry.ts";
import type { Known } from "./known.ts";
import { checkPlainName } from "./read-sections.ts";

/** What routes refer to. */
export interface RouteContext {
  find: FindDeployment;
  known: Known;
  /** Aliases that have complexity routing of their own. */
  complex: ReadonlySet<string>;
}

/** What the rest of an experiment is called. */
const STABLE = "stable";

/** The whole chains of tenants. One of which nothing is left stays, empty: a pinned tenant goes nowhere else. */
export function overridesOf(
  entry: Entry<RouteInput>,
  input: RouteInput,
  { find, known }: RouteContext,
  problems: Problems,
): Route["tenantOverrides"] {
  const overrides = new Map<string, readonly string[]>();
  for (const [tenant, names] of Object.entries(input.tenant_overrides)) {
    if (!known.tenants.has(tenant)) {
      const message = `unknown tenant \`${tenant}\`${didYouMean(tenant, known.tenants)}`;
      errorAtKey(entry, ["tenant_overrides"], tenant, message, problems);
    }
    const written = { entry, below: ["tenant_overrides", tenant], mayMove: input.pin === "latest" };
    overrides.set(
      tenant,
      chainOf(names, written, find, problems).map(({ name }) => name),
    );
  }
  return overrides;
}

/** The arms of a route's experiment, in the order in which they are written. */
export function canaryOf(
  entry: Entry<RouteInput>,
  input: RouteInput,
  { find, known }: RouteContext,
  problems: Problems,
): CanaryArm[] {
  const isList = nodeAt(entry.node, ["canary"])?.kind === "list";
  const arms: CanaryArm[] = [];
  let percents = 0;
  for (const [i, arm] of (input.canary ?? []).entries()) {
    const below: Path = isList ? ["canary", i] : ["canary"];
    const { deployment, percent, variant, flag = null } = arm;
    percents += percent;
    checkVariant(entry, [...below, "variant"], variant, arms, problems);
    if (flag !== null && !known.flags) {
      const message = "`flag` is asked of nobody: this config has no `flags`; write `flags: { provider: env }`";
      errorIn(entry, [...below, "flag"], message, problems);
    }
    const at = { entry, below: [...below, "deployment"], mayMove: input.pin === "latest" };
    const name = find(deployment, at);
    if (name === "left out") {
      warnIn(entry, at.below, `\`${deployment}\` leaves the experiment, because it was left out`, problems);
    } else if (name !== null) {
      arms.push({ deployment: name, percent, variant, flag });
    }
  }
  // Shares such as 33.3 do not add up exactly.
  if (percents > 100 + 1e-9) {
    const message = `the arms are ${Number(percents.toFixed(3))} percent together; at most 100, and the rest is \`${STABLE}\``;
    errorIn(entry, ["canary"], message, problems);
  }
  return arms;
}

function checkVariant(
  entry: Entry<unknown>,
  below: Path,
  variant: string,
  before: readonly CanaryArm[],
  problems: Problems,
): void {
  checkPlainName(variant, placeAt(entry.node, below), [...entry.path, ...below], problems);
  if (variant === STABLE) {
    errorIn(entry, below, `\`${STABLE}\` is what everybody outside the arms is counted under; take another`, problems);
  } else if (before.some((arm) => arm.variant === variant)) {
    errorIn(entry, below, `two arms are called \`${variant}\`, so nobody could tell them apart`, problems);
  }
}

/** How a route tells simple requests from hard ones; null where it does not. */
export function complexityOf(
  entry: Entry<RouteInput>,
  input: RouteInput,
  context: RouteContext,
  problems: Problems,
): ComplexityConfig | null {
  const { complexity } = input;
  if (!complexity) return null;
  checkNumbers(entry, complexity, problems);
  const cheap = branchOf(entry, "cheap", input, complexity.cheap, context, problems);
  const capable = branchOf(entry, "capable", input, complexity.capable, context, problems);
  const classifier = classifierOf(entry, complexity, context, problems);
  if (complexity.cheap === complexity.capable) {
    errorIn(entry, ["complexity", "capable"], "`cheap` and `capable` are the same, so there is no choice", problems);
  }
  if (!cheap || !capable) return null;
  return {
    ...{ cheap, capable, classifier },
    ...{ shortChars: complexity.short, longChars: complexity.long, tools: complexity.tools },
    ...{ cut: complexity.cut, budgetMs: complexity.budget },
  };
}

function checkNumbers(entry: Entry<RouteInput>, complexity: ComplexityInput, problems: Problems): void {
  if (complexity.short > complexity.long) {
    const message = `\`short\` is ${complexity.short} and \`long\` ${complexity.long}: a message would be both`;
    const key = nodeAt(entry.node, ["complexity", "short"]) ? "short" : "long";
    errorIn(entry, ["complexity", key], message, problems);
  }
  if (complexity.classifier) return;
  for (const key of ["cut", "budget"]) {
    if (!nodeAt(entry.node, ["complexity", key])) continue;
    errorAtKey(entry, ["complexity"], key, `\`${key}\` is the classifier's, and there is no \`classifier\``, problems);
  }
}

/** A deployment by its name, else another alias. */
function branchOf(
  entry: Entry<RouteInput>,
  key: "cheap" | "capable",
  input: RouteInput,
  name: string,
  { find, known, complex }: RouteContext,
  problems: Problems,
): ComplexityBranch | null {
  const below = ["complexity", key];
  const isAlias = known.aliases.has(name) && !known.deployments.has(name);
  if (isAlias && !complex.has(name)) return { kind: "alias", name };
  if (isAlias) {
    const message =
      name === entry.name
        ? `\`${name}\` is this very alias; name a deployment of its chain`
        : `\`${name}\` tells requests apart by \`complexity\` itself; name a deployment, or an alias that does not`;
    errorIn(entry, below, message, problems);
    return null;
  }
  const found = find(name, { entry, below, mayMove: input.pin === "latest", orAlias: true });
  if (found === "left out") {
    warnIn(entry, below, `\`complexity\` is not used, because \`${name}\` was left out`, problems);
  }
  return found === null || found === "left out" ? null : { kind: "deployment", name: found };
}

function classifierOf(
  entry: Entry<RouteInput>,
  { classifier }: ComplexityInput,
  { known, complex }: RouteContext,
  problems: Problems,
): ComplexityConfig["classifier"] {
  if (!classifier) return null;
  const below = ["complexity", "classifier"];
  const { alias, url } = classifier;
  if ((alias === undefined) === (url === undefined)) {
    const at = keyPlaceAt(entry.node, ["complexity"], "classifier");
    problems.error(at, [...entry.path, ...below], "a classifier is either `alias` or `url`");
    return null;
  }
  if (url !== undefined) {
    const read = httpUrl(url);
    if ("fault" in read) errorIn(entry, [...below, "url"], `\`url\` ${read.fault}`, problems);
    else if (read.url.username !== "" || read.url.password !== "") {
      errorIn(entry, [...below, "url"], "`url` holds a user or password, which nothing here keeps secret", problems);
    }
    return { kind: "http", url };
  }
  if (alias === undefined) return null;
  if (!known.aliases.has(alias)) {
    const message = `unknown alias \`${alias}\`${didYouMean(alias, known.aliases)}`;
    errorIn(entry, [...below, "alias"], message, problems);
  } else if (complex.has(alias)) {
    const message = `\`${alias}\` has \`complexity\` itself, so a classifier would ask for a classifier`;
    errorIn(entry, [...below, "alias"], message, problems);
  }
  return { kind: "alias", alias };
}
