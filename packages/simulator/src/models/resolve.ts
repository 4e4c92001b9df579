import type { Behaviour } from "./behaviour.ts";
import { ERROR_MODELS } from "./error-models.ts";
import { FAULT_MODELS } from "./fault-models.ts";
import { ProblemError, problem } from "./problem.ts";
import { GENERIC_OPTIONS, readSettings, type Settings } from "./settings.ts";
import { TEXT_MODELS } from "./text-models.ts";

/** Every model with a behaviour of its own. Other names echo. */
export const MODELS: ReadonlyMap<string, Behaviour> = new Map(
  Object.entries({ ...TEXT_MODELS, ...ERROR_MODELS, ...FAULT_MODELS }),
);

const ECHO: Behaviour = TEXT_MODELS.echo;
/** What belongs to the misbehaving and goes with it. */
const SPARED: readonly (keyof Settings)[] = [
  "latency",
  "first_token",
  "between",
  "keepalive",
  "preamble",
  "quirk",
  "retry_after",
  "retry_after_ms",
];

/** A model name, read. `full` is the name as asked, options and all. */
export interface Model {
  readonly full: string;
  readonly behaviour: Behaviour;
  readonly settings: Settings;
}

/**
 * Reads `name?option=value&…`. A prefix up to the last `/` before the `?` is skipped, `as` picks the behaviour
 * for a name that has none. Throws a 400 for unknown or bad options, a 404 when `as` names no model.
 */
export function resolveModel(full: string): Model {
  const mark = full.indexOf("?");
  const path = mark < 0 ? full : full.slice(0, mark);
  const query = mark < 0 ? "" : full.slice(mark + 1);
  const name = path.slice(path.lastIndexOf("/") + 1);
  const wanted = new URLSearchParams(query).get("as") ?? name;
  const behaviour = MODELS.get(wanted) ?? ECHO;
  if (behaviour === ECHO && wanted !== name && wanted !== "echo") {
    throw new ProblemError(problem("model_not_found", 404, `there is no model '${wanted}' to act as`));
  }
  const allowed = [...GENERIC_OPTIONS, ...(behaviour.own ?? [])];
  const given = readSettings(query, allowed, path);
  return { full, behaviour, settings: { ...behaviour.defaults, ...given } };
}

/**
 * The model on a call that `times` or `every` spares: echo with the same figures, no waits, quirks or retry hints, and
 * nothing of the options that only its own behaviour has.
 */
export function spared(model: Model): Model {
  const dropped: readonly string[] = [...SPARED, ...(model.behaviour.own ?? [])];
  const kept = Object.entries(model.settings).filter(([name]) => !dropped.includes(name));
  return { full: model.full, behaviour: ECHO, settings: Object.fromEntries(kept) };
}
