import { z } from "zod";
import { LIMITS } from "../../core/limits.ts";
import { count, names, text } from "./fields.ts";

const matchFields = {
  classification: names("Classes of data.").optional(),
  task_class: names("Task classes.").optional(),
  tenant: names("Tenants.").optional(),
  team: names("Teams.").optional(),
  application: names("Applications.").optional(),
  agent: names("Agents.").optional(),
  alias: names("Aliases that are asked for.").optional(),
  tags: z
    .record(text(), names("Values of the tag."))
    .describe("Tags, by name, each with one of these values.")
    .optional(),
};

/** One of `rules:` where what the caller is decides. */
export const ruleSchema = z
  .strictObject({
    name: text().describe("Name of the rule, in rows and in explain."),
    priority: count(
      "Rules with lower numbers are asked first; those with the same, as written.",
      0,
      1_000_000,
    ).prefault(0),
    when: z.strictObject(matchFields).describe("What the request must have: all of it, each with one of the values."),
    unless: z.strictObject(matchFields).describe("A request that has all of this is not meant.").optional(),
    chain: z
      .array(text().describe("Name of a deployment, or provider/model."))
      .min(1, { error: "is empty; name at least one deployment" })
      .max(LIMITS.chainMax, { error: `is longer than ${LIMITS.chainMax} deployments` })
      .describe("Deployments in the order in which they are tried, in place of the route's."),
    mode: z
      .enum(["enforce", "shadow"])
      .describe("`shadow`: what it would decide is counted, and nothing else.")
      .prefault("enforce"),
  })
  .describe("A rule: the first that matches, and of whose chain the gates leave something, decides.");

/** One rule as read. */
export type RuleInput = z.output<typeof ruleSchema>;

/** What a rule looks at, as read. */
export type MatchInput = RuleInput["when"];
