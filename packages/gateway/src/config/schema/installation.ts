import { z } from "zod";
import { ALERT_KINDS } from "../../core/alert-kinds.ts";
import { BOUNDS } from "../bounds.ts";
import { text } from "./fields.ts";

/** `classifications:` what data may be, from the least to the most sensitive. */
export const classificationsSchema = z
  .array(text().describe("A class of data."))
  .min(1, { error: "is empty; name at least one class, or leave it out" })
  .max(BOUNDS.classesMax, { error: `has more than ${BOUNDS.classesMax} classes` })
  .describe(
    "Classes of data, ascending: the first is what a request without one holds, and what any deployment may hold.",
  );

/** `task_classes:` what tasks may be. */
export const taskClassesSchema = z
  .array(text().describe("A task class."))
  .min(1, { error: "is empty; name at least one task class, or leave it out" })
  .max(BOUNDS.taskClassesMax, { error: `has more than ${BOUNDS.taskClassesMax} task classes` })
  .describe("Task classes that requests may name. Absent: any.");

/** `regions:` groups of regions. */
export const regionsSchema = z
  .record(
    text(),
    z
      .array(text().describe("A region, or another group."))
      .min(1, { error: "is empty; name at least one region" })
      .describe("Regions of the group."),
  )
  .refine((groups) => Object.keys(groups).length <= BOUNDS.regionGroupsMax, {
    error: `has more than ${BOUNDS.regionGroupsMax} groups`,
  })
  .describe("Groups of regions: a residency may name either.");

/** `state:` where what replicas share is kept. */
export const stateSchema = text("is not `memory` or the URL of a Redis").describe(
  "`memory` (default), or a Redis that replicas share: redis://host:6379, rediss://, redis+sentinel://h1,h2/NAME, redis+cluster://h1,h2.",
);

const kindSchema = z.enum(["*", ...ALERT_KINDS]).describe("A kind of alert, or `*` for all.");

/** One of `alerts:` somebody who is told. */
export const alertSchema = z
  .strictObject({
    url: text().describe("Where alerts are posted, best as a reference: env:NAME or file:PATH."),
    format: z.enum(["json", "slack"]).describe("Shape of the body.").prefault("json"),
    kinds: z
      .union([z.literal("*").transform(() => ["*" as const]), z.array(kindSchema).min(1, { error: "names no kind" })])
      .describe("Kinds of alerts that it gets. Default: all.")
      .prefault(["*"]),
  })
  .describe("Somebody who is told of trouble, and of its end.");

/** `flags:` who is asked for feature flags. */
export const flagsSchema = z
  .strictObject({
    provider: z.enum(["env"]).describe("`env`: variables of the environment.").prefault("env"),
    prefix: text()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: "cannot begin the name of a variable: letters, digits and `_`" })
      .describe("What the variables begin with: a flag is PREFIX and its name in capitals, with `_` for other signs.")
      .prefault("SLUICEGATE_FLAG_"),
  })
  .describe("Feature flags (OpenFeature).");

/** One target of alerts as read. */
export type AlertInput = z.output<typeof alertSchema>;

/** `flags` as read. */
export type FlagsInput = z.output<typeof flagsSchema>;
