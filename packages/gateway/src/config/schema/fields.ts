import { z } from "zod";
import { isUsdPerMillion } from "../../core/price.ts";
import { DATE_FORM, DURATION_FORM, parseDate, parseDuration, parseSize, SIZE_FORM } from "../units.ts";

/** Longest duration a timer keeps exactly. */
const DURATION_MS_MAX = 24 * 86_400_000;
/** What an editor must also let pass wherever a text with a form of its own stands. */
const DURATION_PATTERN = "\\d+(\\.\\d+)?(ms|s|m|h|d)";
const REFERENCE = "(env|file|vault|aws-sm|gcp-sm):.+|.*\\$\\{.+";

/** A field that is filled from its default when the key is absent. */
type Filled<T> = z.ZodPrefault<z.ZodType<T, string>>;

/** A field that stays undefined when the key is absent. */
type Optional<T> = z.ZodOptional<z.ZodType<T, string>>;

/**
 * A duration with a default, as written in YAML; `0s` only where `zero` is true.
 * Messages of these fields are predicates ("is not a duration: …"); `issues.ts` puts what was written before them.
 */
export function duration(description: string, defaultText: string, zero = false): Filled<number> {
  return durationText(description, zero).prefault(defaultText);
}

/** A duration that may be left out, more than 0. */
export function optionalDuration(description: string): Optional<number> {
  return durationText(description, false).optional();
}

/** A duration, or `off` (null). */
export function durationOrOff(description: string, defaultText: string): Filled<number | null> {
  const pattern = `^(off|${DURATION_PATTERN}|${REFERENCE})$`;
  const field: z.ZodType<number | null, string> = text("is not a duration or `off`")
    .transform((written, context) => (written === "off" ? null : readDuration(written, context, false)))
    .meta({ description, pattern });
  return field.prefault(defaultText);
}

/** Bytes, written with a unit. */
export function size(description: string, defaultText: string): Filled<number> {
  const form = `is not a size: ${SIZE_FORM}`;
  const field: z.ZodType<number, string> = text(form)
    .transform((written, context) => {
      const bytes = parseSize(written);
      if (bytes !== null && bytes > 0) return bytes;
      return refuse(context, bytes === 0 ? "must be more than 0" : form);
    })
    .meta({ description, pattern: `^(\\d+(\\.\\d+)?(B|KiB|MiB|GiB|TiB)|${REFERENCE})$` });
  return field.prefault(defaultText);
}

/** A moment, as epoch milliseconds. */
export function date(description: string): Optional<number> {
  const form = `is not a date: ${DATE_FORM}`;
  const field: z.ZodType<number, string> = text(form)
    .transform((written, context) => parseDate(written) ?? refuse(context, form))
    .meta({ description });
  return field.optional();
}

/** A text that is not empty. */
export function text(error = "is not a text"): z.ZodString {
  return z.string({ error }).min(1, { error: "must not be empty" });
}

/** Dollars per million tokens. */
export function usdPerMillion(description: string): z.ZodNumber {
  return z
    .number({ error: "is not a number: prices are USD per million tokens, as in `2.50`" })
    .min(0, { error: "must not be negative" })
    .max(1_000_000, { error: "is over $1 a token, which is a unit mistake: prices are USD per MILLION tokens" })
    .refine((usd) => isUsdPerMillion(usd), { error: "is finer than a nano-dollar: at most 9 decimals" })
    .describe(description);
}

/** A whole number within bounds. */
export function count(description: string, min: number, max: number): z.ZodNumber {
  return z
    .int({ error: "is not a whole number" })
    .min(min, { error: `must be at least ${min}` })
    .max(max, { error: `must be at most ${max}` })
    .describe(description);
}

/** A share of a whole. `zero`: it may be nothing. */
export function share(description: string, zero = false): z.ZodNumber {
  const error = zero ? "must be between 0 and 1" : "must be more than 0, and at most 1";
  const number = z.number({ error: "is not a number" }).max(1, { error });
  return (zero ? number.min(0, { error }) : number.gt(0, { error })).describe(description);
}

/** True or false, with a default. */
export function flag(description: string, otherwise: boolean): z.ZodPrefault<z.ZodBoolean> {
  return z.boolean({ error: "is not true or false" }).describe(description).prefault(otherwise);
}

/** One name, or a list of at least one; read as a list. */
export function names(description: string): z.ZodType<string[], string | string[]> {
  const one = text().describe("A name.");
  return z
    .union([one.transform((name) => [name]), z.array(one).min(1, { error: "is empty, so nothing could match" })])
    .meta({ description });
}

function durationText(description: string, zero: boolean): z.ZodType<number, string> {
  return text(`is not a duration: ${DURATION_FORM}`)
    .transform((written, context) => readDuration(written, context, zero))
    .meta({ description, pattern: `^(${DURATION_PATTERN}|${REFERENCE})$` });
}

function readDuration(written: string, context: z.RefinementCtx<string>, zero: boolean): number {
  const ms = parseDuration(written);
  if (ms === null) return refuse(context, `is not a duration: ${DURATION_FORM}`);
  if (ms === 0 && !zero) return refuse(context, "must be more than 0");
  return ms > DURATION_MS_MAX ? refuse(context, "is longer than 24d") : ms;
}

function refuse(context: z.RefinementCtx<string>, message: string): never {
  context.addIssue({ code: "custom", message });
  return z.NEVER;
}
