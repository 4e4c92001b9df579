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

/** What limits promise that what is above or beside them does not give. */
export function warnOverCommitted(
  sections: Sections,
  providers: ReadonlyMap<string, ProviderConfig>,
  deployments: ReadonlyMap<string, Deployment>,
  problems: Problems,
): void {
  const shared = new Map<string, Deployment>();
  const bucketsOf = new Map<string, DeploymentLimits[]>();
  for (const deployment of deployments.values()) {
    const { name, provider, model, region, limits } = deployment;
    if (!limits) continue;
    const bucket = JSON.stringify([provider, model, region]);
    const first = shared.get(bucket);
    if (!first) {
      shared.set(bucket, deployment);
      bucketsOf.set(provider, [...(bucketsOf.get(provider) ?? []), limits]);
    } else if (ALL.some((kind) => first.limits?.[kind] !== limits[kind])) {
      const entry = sections.deployments.get(name);
      const message = `\`${name}\` and \`${first.name}\` are one model of one provider in one region and share its limits, which differ here; give both the same`;
      if (entry) warnIn(entry, ["limits"], message, problems);
    }
  }
  for (const { name, limits } of providers.values()) {
    const entry = sections.providers.get(name);
    const buckets = bucketsOf.get(name) ?? [];
    for (const kind of ALL) {
      const sum = buckets.reduce((total, bucket) => total + (bucket[kind] ?? 0), 0);
      const limit = limits?.[kind] ?? null;
      if (!entry || limit === null || sum <= limit) continue;
      const message = `the deployments of \`${name}\` have limits of ${sum} ${kind} together, more than the ${limit} of the account`;
      warnIn(entry, ["limits", kind], message, problems);
    }
  }
}
