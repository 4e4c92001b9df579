import { createHash } from "node:crypto";
import {
  ErrorCode,
  type EvaluationContext,
  type JsonValue,
  type Provider,
  type ResolutionDetails,
  StandardResolutionReasons,
} from "@openfeature/server-sdk";
import type { Environment } from "../config/env.ts";

const ON: ReadonlySet<string> = new Set(["true", "1", "on", "yes"]);
const OFF: ReadonlySet<string> = new Set(["false", "0", "off", "no"]);
const PERCENT = /^(\d{1,3}(?:\.\d{1,4})?)%$/;

/**
 * An OpenFeature provider over variables of the environment: flag `route-canary-next` is PREFIX_ROUTE_CANARY_NEXT. Its
 * values are true and false (1 and 0, on and off, yes and no), or a share of the targeting keys, as in `25%`.
 */
export class EnvProvider implements Provider {
  readonly metadata = { name: "sluicegate-env" };
  readonly runsOn = "server";
  readonly #environment: Pick<Environment, "get">;
  readonly #prefix: string;

  constructor(environment: Pick<Environment, "get">, prefix: string) {
    this.#environment = environment;
    this.#prefix = prefix;
  }

  async resolveBooleanEvaluation(
    flag: string,
    otherwise: boolean,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<boolean>> {
    const variable = variableOf(this.#prefix, flag);
    const text = this.#environment.get(variable)?.trim().toLowerCase();
    // Set to nothing is not set.
    if (text === undefined || text === "") return failed(otherwise, ErrorCode.FLAG_NOT_FOUND, `${variable} is not set`);
    if (ON.has(text)) return { value: true, reason: StandardResolutionReasons.STATIC };
    if (OFF.has(text)) return { value: false, reason: StandardResolutionReasons.STATIC };
    const percent = Number(PERCENT.exec(text)?.[1] ?? Number.NaN);
    // What it is set to may be anything, a secret included: it is not repeated.
    if (!(percent <= 100))
      return failed(otherwise, ErrorCode.PARSE_ERROR, `${variable} is not true, false or a share, as in 25%`);
    const value = placeOf(flag, context.targetingKey ?? "") < percent;
    return { value, reason: StandardResolutionReasons.SPLIT };
  }

  async resolveStringEvaluation(flag: string, otherwise: string): Promise<ResolutionDetails<string>> {
    return onlyTruths(flag, otherwise);
  }

  async resolveNumberEvaluation(flag: string, otherwise: number): Promise<ResolutionDetails<number>> {
    return onlyTruths(flag, otherwise);
  }

  async resolveObjectEvaluation<T extends JsonValue>(flag: string, otherwise: T): Promise<ResolutionDetails<T>> {
    return onlyTruths(flag, otherwise);
  }
}

/** The variable that holds a flag. */
export function variableOf(prefix: string, flag: string): string {
  return `${prefix}${flag.toUpperCase().replaceAll(/[^A-Z0-9_]/g, "_")}`;
}

/** Where a targeting key stands in a flag's hundred: the same on every replica, and another for every flag. */
function placeOf(flag: string, targetingKey: string): number {
  const digest = createHash("sha256")
    .update(JSON.stringify([flag, targetingKey]))
    .digest();
  return (digest.readUInt32BE(0) / 2 ** 32) * 100;
}

function onlyTruths<T>(flag: string, value: T): ResolutionDetails<T> {
  return failed(value, ErrorCode.TYPE_MISMATCH, `${flag} is a flag that is true or false`);
}

function failed<T>(value: T, errorCode: ErrorCode, errorMessage: string): ResolutionDetails<T> {
  return { value, errorCode, errorMessage, reason: StandardResolutionReasons.ERROR };
}
