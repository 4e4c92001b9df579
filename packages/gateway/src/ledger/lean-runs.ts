import type { AttemptRow, CredentialUse, RequestRow } from "@sluicegate/contract";
import { Remembered } from "../core/remembered.ts";
import { ADMITTED_FIELDS, ATTEMPT_SHARED_FIELDS, type AttemptExtras, regionOf, SETTLED_FIELDS } from "./layout.ts";

type Admitted = Pick<RequestRow, (typeof ADMITTED_FIELDS)[number]> & { text: string };
type Settled = Pick<RequestRow, (typeof SETTLED_FIELDS)[number]> & { text: string };
type Attempted = Pick<AttemptRow, "deployment" | "provider" | "model" | "status" | "error_class" | "http_status"> &
  Pick<AttemptRow, "cost_state" | "hedge" | "retry"> & {
    credential_name: CredentialUse["name"] | null;
    credential_generation: CredentialUse["generation"] | null;
    credential_owner: CredentialUse["owner"] | null;
    region: string | null;
    capacity: string | null;
    text: string;
  };

/**
 * The runs of values in lean lines that are the same for most requests of a key or a deployment: a JSON array each, in the
 * order of layout.ts. Each is made into text once, and used again for as long as every value in it is the same.
 */
export class LeanRuns {
  readonly #admitted = new Remembered<Admitted>();
  readonly #settled = new Remembered<Settled>();
  readonly #attempted = new Remembered<Attempted>();

  /** The values of ADMITTED_FIELDS. */
  admitted(row: RequestRow): string {
    for (const run of this.#admitted.under(row.key_id)) if (isAdmitted(run, row)) return run.text;
    const run = kept<Admitted>(ADMITTED_FIELDS, row);
    return textOf(this.#admitted, run.key_id, run);
  }

  /** The values of SETTLED_FIELDS. */
  settled(row: RequestRow): string {
    for (const run of this.#settled.under(row.deployment)) if (isSettled(run, row)) return run.text;
    const run = kept<Settled>(SETTLED_FIELDS, row);
    return textOf(this.#settled, run.deployment, run);
  }

  /** The values of ATTEMPT_SHARED_FIELDS. */
  attempted(row: RequestRow, attempt: AttemptRow & AttemptExtras): string {
    const region = regionOf(row, attempt);
    for (const run of this.#attempted.under(attempt.deployment))
      if (run.region === region && isAttempted(run, attempt)) return run.text;
    const { credential } = attempt;
    const run = kept<Attempted>(ATTEMPT_SHARED_FIELDS, {
      ...attempt,
      credential_name: credential?.name ?? null,
      credential_generation: credential?.generation ?? null,
      credential_owner: credential?.owner ?? null,
      region,
      capacity: attempt.capacity ?? null,
    });
    return textOf(this.#attempted, run.deployment, run);
  }
}

/** The text of a new run, which is kept unless it is long: a model's name is as long as its provider makes it. */
function textOf<Run extends { text: string }>(memory: Remembered<Run>, key: string | null, run: Run): string {
  if (memory.wants(run, key)) memory.add(key, run);
  return run.text;
}

/** A run of these values, which are read back from its text: a string of a row may hold on to the whole body it was cut from. */
function kept<Run extends { text: string }>(fields: readonly (string & keyof Run)[], values: object): Run {
  const run = {} as Record<string, unknown>;
  const from = values as Record<string, unknown>;
  for (const name of fields) run[name] = from[name];
  const own = JSON.parse(JSON.stringify(run)) as Run;
  // Booleans stand as 1 and 0.
  const list = fields.map((name) => (typeof own[name] === "boolean" ? Number(own[name]) : own[name]));
  own.text = JSON.stringify(list);
  return own;
}

function isAdmitted(run: Admitted, row: RequestRow): boolean {
  return (
    run.alias === row.alias &&
    run.stream === row.stream &&
    run.purpose === row.purpose &&
    run.tenant === row.tenant &&
    run.team === row.team &&
    run.application === row.application &&
    run.route === row.route &&
    run.rule === row.rule &&
    run.variant === row.variant &&
    run.dialect === row.dialect &&
    run.template_version === row.template_version &&
    run.task_class === row.task_class &&
    run.classification === row.classification &&
    run.cache === row.cache &&
    run.deployment === row.deployment &&
    run.provider === row.provider &&
    run.model === row.model &&
    run.region === row.region
  );
}

function isSettled(run: Settled, row: RequestRow): boolean {
  return (
    run.status === row.status &&
    run.finish_reason === row.finish_reason &&
    run.response_model === row.response_model &&
    run.error_code === row.error_code &&
    run.provider === row.provider &&
    run.model === row.model &&
    run.region === row.region &&
    run.cost_state === row.cost_state &&
    run.saved_micro_usd === row.saved_micro_usd &&
    run.cache === row.cache &&
    run.fallback_depth === row.fallback_depth &&
    run.hedged === row.hedged &&
    run.repeated === row.repeated
  );
}

/** All but the region. */
function isAttempted(run: Attempted, attempt: AttemptRow & AttemptExtras): boolean {
  const { credential } = attempt;
  return (
    run.status === attempt.status &&
    run.http_status === attempt.http_status &&
    run.error_class === attempt.error_class &&
    run.cost_state === attempt.cost_state &&
    run.provider === attempt.provider &&
    run.model === attempt.model &&
    run.hedge === attempt.hedge &&
    run.retry === attempt.retry &&
    run.capacity === (attempt.capacity ?? null) &&
    (credential === null
      ? run.credential_name === null
      : run.credential_name === credential.name &&
        run.credential_generation === credential.generation &&
        run.credential_owner === credential.owner)
  );
}
