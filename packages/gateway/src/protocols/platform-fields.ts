import { PLATFORM_HEADER_PREFIX } from "@sluicegate/contract";
import type { PlatformFields } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { clippedText } from "../core/own-text.ts";
import { type Fields, isAbsent, isObject, wrongField } from "./field-checks.ts";
import type { ClientRequest } from "./protocol.ts";

const LABELS = [
  "task_class",
  "classification",
  "residency",
  "session_id",
  "user",
  "agent",
  "application",
  "template_version",
] as const;
const FLAGS = ["side_effecting", "cacheable", "fallback", "hedge", "retry_after_tool_results"] as const;
const PRIORITIES = ["high", "normal", "low"] as const;
/**
 * Fields whose behaviour this build does not have, with the values that ask for nothing: those are honoured by doing
 * nothing (there is no cache to bypass), any other is refused, never ignored.
 */
const NOT_BUILT: Readonly<Record<string, readonly unknown[]>> = {
  cache_policy: ["auto", "bypass"],
  cache_class: [],
  cache_floor: [],
};
const KNOWN: readonly string[] = [...LABELS, ...FLAGS, "tags", "latency_budget_ms", "priority"];

/** `task_class` → `x-sluicegate-task-class`, made once. */
const HEADER_NAMES: ReadonlyMap<string, string> = new Map(
  [...KNOWN, ...Object.keys(NOT_BUILT)].map((key) => [key, `${PLATFORM_HEADER_PREFIX}${key.replaceAll("_", "-")}`]),
);

/** Platform fields that may stand at the top level, too. */
const TOP_LEVEL: readonly string[] = ["session_id", "cache_policy", "hedge"];

/** Top-level request members that belong to the platform and never go upstream. */
export const PLATFORM_MEMBERS: readonly string[] = ["gateway", ...TOP_LEVEL];

/** Whether a body holds one of them, be it null. By their own names, which is faster than in a loop. */
export function sendsPlatformMember({ gateway, session_id, cache_policy, hedge }: Fields): boolean {
  return gateway !== undefined || session_id !== undefined || cache_policy !== undefined || hedge !== undefined;
}

/** Takes a label in the dialect's own words, where the platform's field does not say it. */
export function takeLabel(platform: PlatformFields, field: "user" | "session_id", said: unknown): void {
  if (platform[field] !== undefined || typeof said !== "string" || said === "") return;
  platform[field] = clippedText(said, LIMITS.labelCharsMax);
}

/**
 * The platform fields of a request: from `gateway` in the body, else from `x-sluicegate-*` headers (the body wins),
 * some also from the top level. Throws invalid_request naming a field of the wrong type,
 * and refuses what this build cannot honour.
 */
export function platformFields(
  body: Record<string, unknown>,
  { header, platformHeaders }: Pick<ClientRequest, "header" | "platformHeaders">,
): PlatformFields {
  if (platformHeaders === false && !sendsPlatformMember(body)) return {};
  const given = body["gateway"] ?? {};
  if (!isObject(given)) throw wrongField("gateway", "an object");
  const gateway: Fields = given;
  for (const key of Object.keys(gateway)) checkKnown(key);
  const read = (key: string): { value: unknown; path: string } => {
    if (!isAbsent(gateway[key])) return { value: gateway[key], path: `gateway.${key}` };
    if (TOP_LEVEL.includes(key) && !isAbsent(body[key])) return { value: body[key], path: key };
    const name = HEADER_NAMES.get(key) ?? key;
    return { value: header(name), path: name };
  };
  for (const key in NOT_BUILT) {
    const { value } = read(key);
    if (value !== undefined && value !== null && !NOT_BUILT[key]?.includes(value)) throw notBuilt(key);
  }
  const fields: PlatformFields = {};
  for (const key of LABELS) {
    const { value, path } = read(key);
    if (value !== undefined) fields[key] = label(value, path);
  }
  for (const key of FLAGS) {
    const { value, path } = read(key);
    if (value !== undefined) fields[key] = flag(value, path);
  }
  const budget = read("latency_budget_ms");
  if (budget.value !== undefined) fields.latency_budget_ms = milliseconds(budget.value, budget.path);
  const priority = read("priority");
  if (priority.value !== undefined) fields.priority = priorityOf(priority.value, priority.path);
  const tags = read("tags");
  if (tags.value !== undefined) fields.tags = readTags(tags.value, tags.path);
  return fields;
}

function checkKnown(key: string): void {
  if (key === "tenant") {
    throw new GatewayError(
      "invalid_request",
      "gateway.tenant cannot be set: the tenant comes from the credential alone",
      {
        param: "gateway.tenant",
      },
    );
  }
  if (KNOWN.includes(key) || Object.hasOwn(NOT_BUILT, key)) return;
  throw new GatewayError("invalid_request", `gateway.${clip(key)} is not a field; known are ${KNOWN.join(", ")}`, {
    param: `gateway.${clip(key)}`,
  });
}

function label(value: unknown, path: string): string {
  if (typeof value !== "string" || value === "") throw wrongField(path, "a non-empty string");
  if (value.length > LIMITS.labelCharsMax) throw wrongField(path, `at most ${LIMITS.labelCharsMax} characters`);
  return value;
}

function flag(value: unknown, path: string): boolean {
  if (value === true || value === "true") return true;
  if (value === false || value === "false") return false;
  throw wrongField(path, "true or false");
}

function priorityOf(value: unknown, path: string): (typeof PRIORITIES)[number] {
  const found = PRIORITIES.find((priority) => priority === value);
  if (found === undefined) throw wrongField(path, PRIORITIES.join(", "));
  return found;
}

function milliseconds(value: unknown, path: string): number {
  const count = typeof value === "string" ? Number(value) : value;
  if (typeof count !== "number" || !Number.isInteger(count) || count < 1)
    throw wrongField(path, "a whole number of milliseconds, at least 1");
  return count;
}

function readTags(value: unknown, path: string): Record<string, string> {
  const tags = typeof value === "string" ? parseTagHeader(value) : value;
  if (!isObject(tags)) throw wrongField(path, "a map of strings (as a header: JSON)");
  const entries = Object.entries(tags);
  if (entries.length > LIMITS.tagsMax) throw wrongField(path, `at most ${LIMITS.tagsMax} tags`);
  return Object.fromEntries(entries.map(([name, tag]) => [label(name, path), label(tag, `${path}.${clip(name)}`)]));
}

function parseTagHeader(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function notBuilt(key: string): GatewayError {
  return new GatewayError("unsupported_feature", `${key} is not available in this build of the gateway; leave it out`, {
    param: key,
  });
}

function clip(text: string): string {
  return text.slice(0, 64);
}
