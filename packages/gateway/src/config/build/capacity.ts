import { didYouMean } from "../nearest.ts";
import type { Path, Problems } from "../problems.ts";
import type { CapacityInput, DeploymentLimitsInput } from "../schema/capacity.ts";
import type { Capacity, Deployment, DeploymentLimits, ProviderConfig } from "../snapshot.ts";
import { type Entry, errorAtKey, errorIn, warnIn } from "./entry.ts";
import type { Known } from "./known.ts";
import type { Sections } from "./read-sections.ts";

const RATES = ["rpm", "tpm"] as const;
const ALL = ["rpm", "tpm", "concurrency"] as const;

/** `limits` of a provider. */
export function capacityOf(entry: Entry<unknown>, input: CapacityInput, problems: Problems): Capacity {
  if (ALL.every((kind) => input[kind] === undefined)) {
    errorIn(entry, ["limits"], "`limits` sets none: give `rpm`, `tpm` or `concurrency`", problems);
  }
  return { rpm: input.rpm ?? null, tpm: input.tpm ?? null, concurrency: input.concurrency ?? null };
}

/** `limits` of a deployment, with what tenants are sure of. */
export function deploymentLimits(
  entry: Entry<unknown>,
  input: DeploymentLimitsInput,
  known: Known,
  problems: Problems,
): DeploymentLimits {
  const capacity = capacityOf(entry, input, problems);
  const floors = new Map<string, Pick<Capacity, "rpm" | "tpm">>();
  for (const [tenant, floor] of Object.entries(input.floors)) {
    const below = ["limits", "floors", tenant];
    if (!known.tenants.has(tenant)) {
      const message = `unknown tenant \`${tenant}\`${didYouMean(tenant, known.tenants)}`;
      errorAtKey(entry, ["limits", "floors"], tenant, message, problems);
    }
    if (RATES.every((kind) => floor[kind] === undefined)) {
      errorIn(entry, below, "this floor is of nothing: give `rpm` or `tpm`", problems);
    }
    for (const kind of RATES) checkFloor(entry, [...below, kind], kind, floor[kind], capacity[kind], problems);
    floors.set(tenant, { rpm: floor.rpm ?? null, tpm: floor.tpm ?? null });
  }
  for (const kind of RATES) warnFloors(entry, kind, capacity[kind], [...floors.values()], problems);
  return { ...capacity, floors };
}

function checkFloor(
  entry: Entry<unknown>,
  below: Path,
  kind: "rpm" | "tpm",
  floor: number | undefined,
  limit: number | null,
  problems: Problems,
): void {
  if (floor === undefined) return;
  if (limit === null) {
    errorIn(entry, below, `a floor of \`${kind}\` is part of \`limits.${kind}\`, which is not set`, problems);
  } else if (floor > limit) {
    errorIn(entry, below, `this floor of ${floor} is above the limit of ${limit} that it is part of`, problems);
  }
}

function warnFloors(
  entry: Entry<unknown>,
  kind: "rpm" | "tpm",
  limit: number | null,
  floors: readonly Pick<Capacity, "rpm" | "tpm">[],
  problems: Problems,
): void {
  const sum = floors.reduce((total, floor) => total + (floor[kind] ?? 0), 0);
  if (floors.length < 2 || limit === null || sum <= limit) return;
  const message = `the floors promise ${sum} ${kind} together, and the limit is ${limit}: not all of them can be kept`;
  warnIn(entry, ["limits", "floors"], message, problems);
}

/** The limits that hold for each shared allocation: of what several deployments say of one, the smaller (ruling 15). */
export function allocations(deployments: ReadonlyMap<string, Deployment>): ReadonlyMap<string, Capacity> {
  const found = new Map<string, Capacity>();
  for (const deployment of deployments.values()) {
    const { limits } = deployment;
    if (!limits) continue;
    const key = allocationOf(deployment);
    const other = found.get(key);
    found.set(key, other ? smaller(other, limits) : limits);
  }
  return found;
}

/** Names the allocation that a deployment shares with all of its provider, model and region. */
export function allocationOf({ provider, model, region }: Deployment): string {
  return JSON.stringify([provider, model, region]);
}

function smaller(one: Capacity, other: Capacity): Capacity {
  const least = (kind: (typeof ALL)[number]): number | null => {
    const [a, b] = [one[kind], other[kind]];
    return a === null || b === null ? (a ?? b) : Math.min(a, b);
  };
  return { rpm: least("rpm"), tpm: least("tpm"), concurrency: least("concurrency") };
}

/** What limits promise that what is above or beside them does not give. */
export function warnOverCommitted(
  sections: Sections,
  providers: ReadonlyMap<string, ProviderConfig>,
  deployments: ReadonlyMap<string, Deployment>,
  problems: Problems,
): void {
  const held = allocations(deployments);
  for (const deployment of deployments.values()) {
    const entry = sections.deployments.get(deployment.name);
    const least = held.get(allocationOf(deployment));
    for (const kind of ALL) {
      const [own, limit] = [deployment.limits?.[kind] ?? null, least?.[kind] ?? null];
      if (!entry || own === null || limit === null || own === limit) continue;
      const message = `${limit} holds, not this: another deployment of this provider, model and region, which share their limits, says so`;
      warnIn(entry, ["limits", kind], message, problems);
    }
  }
  const sums = new Map<string, Record<(typeof ALL)[number], number>>();
  for (const [key, limits] of held) {
    const [provider] = JSON.parse(key) as [string];
    const sum = sums.get(provider) ?? { rpm: 0, tpm: 0, concurrency: 0 };
    for (const kind of ALL) sum[kind] += limits[kind] ?? 0;
    sums.set(provider, sum);
  }
  for (const { name, limits } of providers.values()) {
    const entry = sections.providers.get(name);
    for (const kind of ALL) {
      const [sum, limit] = [sums.get(name)?.[kind] ?? 0, limits?.[kind] ?? null];
      if (!entry || limit === null || sum <= limit) continue;
      const message = `the deployments of \`${name}\` have limits of ${sum} ${kind} together, more than the ${limit} of the account`;
      warnIn(entry, ["limits", kind], message, problems);
    }
  }
}
