import { z } from "zod";
import { CAPABILITIES } from "../../core/call.ts";
import { BOUNDS } from "../bounds.ts";

/** What goes into a model, and what comes out. */
const MODALITIES = ["text", "image", "pdf", "audio", "video", "embedding"] as const;

const word = z.string({ error: "is not a text" }).min(1, { error: "must not be empty" }).max(200);
const day = z
  .string({ error: "is not a day" })
  .regex(/^\d{4}-\d{2}-\d{2}$/, { error: "is not a day as in 2027-01-14" })
  .refine((text) => !Number.isNaN(Date.parse(text)), { error: "is no day of the calendar" });
const tokens = z
  .int({ error: "is not a whole number" })
  .min(1, { error: "must be at least 1" })
  .max(1_000_000_000, { error: "must be at most 1000000000" });
const name = word.regex(/^[a-z0-9][a-z0-9._-]*\*?$/, {
  error: "is not a bare model name: lower case, without a vendor before it, a `*` only at its end",
});

const sourceSchema = z.strictObject({
  url: word.describe("Where it was read."),
  read: day.describe("The day on which it was read."),
});

const modelSchema = z.strictObject({
  names: z
    .array(name)
    .min(1, { error: "is empty; name the model" })
    .describe("The model's own names, the first being the one it is shown by. A `*` stands for any rest."),
  book: z
    .string({ error: "is not a text" })
    .regex(/^[a-z0-9_-]+\/\S+$/, { error: "is not `provider/model` of the price book" })
    .describe("Its entry in the price book: the window, and the maker's own price.")
    .optional(),
  context_window: tokens.describe("Tokens of input and output together. Default: the price book's.").optional(),
  max_output: tokens.describe("The most tokens one answer can have.").optional(),
  capabilities: z
    .array(z.enum(CAPABILITIES, { error: `is not one of ${CAPABILITIES.join(", ")}` }))
    .describe(
      "What it can do; what is not listed is known to be beyond it. Absent: nobody knows, everything is let through.",
    )
    .optional(),
  modalities: z.strictObject({ input: z.array(z.enum(MODALITIES)), output: z.array(z.enum(MODALITIES)) }).optional(),
  sources: z.array(word).min(1, { error: "is empty; say where the facts are from" }),
});

const retirementSchema = z.strictObject({
  on: word.describe("The kind or preset of the provider whose date it is."),
  names: z.array(name).min(1, { error: "is empty; name the models" }),
  date: day.describe("The day on which it stops answering."),
  announced: day.describe("The day on which that was said.").optional(),
  source: word,
});

/** A model catalogue: the one that ships, or a file that goes over it. */
export const catalogueSchema = z
  .strictObject({
    updated: day.describe("The day on which it was last gone through."),
    sources: z.record(word, sourceSchema).describe("What `sources` of its entries name."),
    models: z.array(modelSchema).max(BOUNDS.catalogueEntriesMax),
    retirements: z.array(retirementSchema).max(BOUNDS.catalogueEntriesMax),
  })
  .superRefine((data, context) => {
    const told = (source: string, path: (string | number)[]): void => {
      if (Object.hasOwn(data.sources, source)) return;
      context.addIssue({ code: "custom", message: `\`${source}\` is not among \`sources\``, path });
    };
    for (const [i, model] of data.models.entries())
      for (const [k, source] of model.sources.entries()) told(source, ["models", i, "sources", k]);
    for (const [i, { source }] of data.retirements.entries()) told(source, ["retirements", i, "source"]);
  });

/** A catalogue as it is written. */
export type CatalogueData = z.output<typeof catalogueSchema>;

/** One model of it. */
export type CatalogueModel = CatalogueData["models"][number];

/** One day on which models end. */
export type Retirement = CatalogueData["retirements"][number];
