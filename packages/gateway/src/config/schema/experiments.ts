import { z } from "zod";
import { count, duration, share, text } from "./fields.ts";

/** Characters of a message and tools of a request, beyond which a number is a slip. */
const CHARS_MAX = 100_000_000;
const TOOLS_MAX = 10_000;

const armSchema = z
  .strictObject({
    deployment: text().describe("What this arm is served by first: name of a deployment, or provider/model."),
    percent: z
      .number({ error: "is not a number" })
      .min(0, { error: "must be between 0 and 100" })
      .max(100, { error: "must be between 0 and 100" })
      .describe("Share of the conversations, in percent; all arms together at most 100."),
    variant: text().describe("Name under which the arm is counted; the rest is `stable`."),
    flag: text().describe("Feature flag that turns the arm off while it is false. Default: always on.").optional(),
  })
  .describe("An arm of the experiment.");

/** `canary:` of a route: one arm, or a list. */
export const canarySchema = z
  .union([armSchema.transform((arm) => [arm]), z.array(armSchema).min(1, { error: "has no arms" })])
  .describe("Some conversations go elsewhere first: one arm, or a list of arms.");

const branch = (what: string) => text().describe(`${what}: a deployment (then the chain), or another alias.`);

const classifierSchema = z
  .strictObject({
    alias: text().describe("A small model behind this alias says it.").optional(),
    url: text().describe("A server says it: POST of the message, answer `{ score }`, 0 to 1.").optional(),
  })
  .describe("Who says how hard an ambiguous request is: alias or url. Default: such requests take `capable`.");

/** `complexity:` of a route. */
export const complexitySchema = z
  .strictObject({
    cheap: branch("Where simple requests go"),
    capable: branch("Where hard requests go"),
    short: count("A last user message under so many characters, without tools, is simple.", 0, CHARS_MAX).prefault(200),
    long: count("A last user message over so many characters is hard.", 1, CHARS_MAX).prefault(2_000),
    tools: count("A request with more tools than this is hard.", 0, TOOLS_MAX).prefault(3),
    cut: share("The classifier's score from which a request is hard.", true).prefault(0.5),
    budget: duration("How long the classifier may take; then the request is hard.", "50ms"),
    classifier: classifierSchema.optional(),
  })
  .describe("How hard the last user message looks decides what goes first.");

/** `complexity` as read. */
export type ComplexityInput = z.output<typeof complexitySchema>;
