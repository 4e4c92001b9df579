import type { z } from "zod";
import { didYouMean } from "./nearest.ts";
import type { Path, Place, Problems } from "./problems.ts";
import { unimplementedKeys, unimplementedValues } from "./unimplemented.ts";
import { type ConfigNode, keyPlaceAt, nodeAt, placeAt } from "./yaml/node.ts";

/** Keys whose values are never shown, not even when they are wrong. */
const SECRET_KEYS: ReadonlySet<unknown> = new Set(["api_key", "key", "headers", "client_secret", "credentials"]);

type Issue = z.core.$ZodIssue;

/** The object a schema was held against. */
interface Subject {
  node: ConfigNode;
  path: Path;
  keyAt: Place;
}

/** What a schema found wrong with an object, as problems at the very key or value. */
export function reportIssues(
  issues: readonly Issue[],
  subject: Subject,
  keysOf: (path: Path) => readonly string[],
  problems: Problems,
): void {
  const { node, path } = subject;
  for (const issue of issues) {
    const at = toPath(issue.path);
    if (issue.code === "invalid_union" && likeliestBranch(issue.errors) === null) {
      if (isToldElsewhere(node, at)) continue;
      const wanted = issue.errors.map(outermostWanted).join(" or ");
      const message = `${subjectOf(subject, at)}is ${kindOf(nodeAt(node, at))}; ${wanted} is wanted`;
      problems.error(placeAt(node, at), [...path, ...at], message);
    } else if (issue.code === "invalid_union") {
      const branch = likeliestBranch(issue.errors) ?? [];
      const moved = branch.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
      reportIssues(moved, subject, keysOf, problems);
    } else if (issue.code === "unrecognized_keys") {
      const parent = [...path, ...at];
      const known = keysOf(parent);
      for (const key of issue.keys) reportUnknownKey(key, parent, keyPlaceAt(node, at, key), known, problems);
    } else if (nodeAt(node, at) === undefined) {
      const parent = at.slice(0, -1);
      problems.error(ownPlace(subject, parent), [...path, ...parent], `\`${at.at(-1)}\` is missing`);
    } else if (!isToldElsewhere(node, at)) {
      const whole = [...path, ...at];
      problems.error(placeAt(node, at), whole, `${subjectOf(subject, at)}${wordsFor(issue, nodeAt(node, at), whole)}`);
    }
  }
}

/** Tells of a key that is not `known` in the map at `parent`: misspelt, or not part of this build. */
export function reportUnknownKey(
  key: string,
  parent: Path,
  at: Place,
  known: readonly string[],
  problems: Problems,
): void {
  const coming = unimplementedKeys(parent);
  if (coming.includes(key)) {
    problems.error(at, [...parent, key], `this build does not implement \`${key}\``);
    return;
  }
  const hint =
    didYouMean(key, known) || didYouMean(key, coming) || (known.length > 0 ? `; known are ${listed(known)}` : "");
  problems.error(at, [...parent, key], `unknown key \`${key}\`${hint}`);
}

/** Where an object is named: its key, or its first character in a list. */
function ownPlace({ node, keyAt }: Subject, at: Path): Place {
  const key = at.at(-1);
  if (key === undefined) return keyAt;
  return typeof key === "string" ? keyPlaceAt(node, at.slice(0, -1), key) : placeAt(node, at);
}

/** A union fails with the faults of every branch; the branch meant is the one whose outermost shape fits, if any. */
function likeliestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | null {
  return branches.find((issues) => !issues.some((issue) => issue.path.length === 0 && isShape(issue))) ?? null;
}

function isShape(issue: Issue): boolean {
  return issue.code === "invalid_type" || (issue.code === "invalid_value" && issue.values.length === 1);
}

function outermostWanted(issues: readonly Issue[]): string {
  const [first] = issues;
  if (first?.code === "invalid_value") return listed(first.values.map(String));
  if (first?.code === "invalid_union") return first.errors.map(outermostWanted).join(" or ");
  return first?.code === "invalid_type" ? (EXPECTED[first.expected] ?? first.expected) : "another value";
}

function wordsFor(issue: Issue, node: ConfigNode | undefined, path: Path): string {
  if (issue.code === "invalid_value" && issue.message.startsWith("Invalid")) {
    const allowed = issue.values.map(String);
    const written = node?.kind === "scalar" ? String(node.value) : "";
    const coming = unimplementedValues(path);
    if (coming.includes(written)) return "is not implemented by this build";
    return `is unknown here${didYouMean(written, [...allowed, ...coming]) || `; it is one of ${listed(allowed)}`}`;
  }
  if (issue.code === "invalid_type" && issue.message.startsWith("Invalid")) {
    return `is ${kindOf(node)}; ${EXPECTED[issue.expected] ?? issue.expected} is wanted`;
  }
  return issue.message;
}

const EXPECTED: Readonly<Record<string, string>> = {
  object: "a map",
  record: "a map",
  array: "a list",
  string: "a text",
  number: "a number",
  boolean: "true or false",
};

function kindOf(node: ConfigNode | undefined): string {
  if (node?.kind === "map") return "a map";
  if (node?.kind === "list") return "a list";
  return `a ${typeof node?.value === "string" ? "text" : typeof node?.value}`;
}

/** What a predicate is said of: the value as written, or its key where the value is secret or has no short form. */
function subjectOf({ node, path }: Subject, at: Path): string {
  const target = nodeAt(node, at);
  if (target?.kind === "scalar" && !at.some((part) => SECRET_KEYS.has(part))) {
    return `\`${target.raw.length > 60 ? `${target.raw.slice(0, 59)}…` : target.raw}\` `;
  }
  const key = [...path, ...at].at(-1);
  return typeof key === "string" ? `\`${key}\` ` : "this entry ";
}

/** A reference that leads nowhere and a missing value are told once, elsewhere; what their place wants does not matter then. */
function isToldElsewhere(node: ConfigNode, at: Path): boolean {
  const target = nodeAt(node, at);
  return target?.kind === "scalar" && (target.missing !== null || target.value === null);
}

function listed(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

function toPath(path: readonly PropertyKey[]): Path {
  return path.map((part) => (typeof part === "number" ? part : String(part)));
}
