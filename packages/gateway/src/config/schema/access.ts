import { z } from "zod";
import { date, text } from "./fields.ts";
import { providerSchema } from "./providers.ts";

/** Platform fields that a tenant may require; those of `PlatformFields` in core/call.ts. */
const PLATFORM_FIELDS = [
  "task_class",
  "classification",
  "session_id",
  "user",
  "agent",
  "application",
  "template_version",
  "tags",
  "latency_budget_ms",
  "side_effecting",
  "cacheable",
  "fallback",
  "retry_after_tool_results",
  "residency",
  "hedge",
  "priority",
] as const;

/** What clients of a tenant may ask for beyond the usual. */
export const GRANTS = ["hedge", "priority_high"] as const;

const namesSchema = z.array(text().describe("An alias, provider/model, provider/*, or deployment:NAME."));
const everyAlias = z.literal("*", { error: "is neither a list nor `*`" });

function modelsSchema(absent: string) {
  return z
    .union([
      everyAlias.transform(() => ({ allow: "*" as const, deny: [] as string[] })),
      z.strictObject({
        allow: z
          .union([everyAlias, namesSchema])
          .describe(
            "What may be asked for, or `*` for every alias. Raw provider/model names need a pattern of their own.",
          )
          .optional(),
        deny: namesSchema.describe("What may not, whatever is allowed.").prefault([]),
      }),
    ])
    .describe(`Which models may be used. Absent: ${absent}.`)
    .optional();
}

const nothingYet = z.strictObject({}).describe("Nothing can be set here in this build: write `{}`.");

/** One of `tenants:` who is served. */
export const tenantSchema = z
  .strictObject({
    models: modelsSchema("nothing"),
    require: z
      .array(z.enum(PLATFORM_FIELDS).describe("Name of a platform field."))
      .describe("Platform fields its requests must carry.")
      .prefault([]),
    defaults: z
      .strictObject({
        classification: text().describe("Classification of a request that names none.").optional(),
        residency: text()
          .describe("Region, or group of regions, in which a request that names none has to stay.")
          .optional(),
      })
      .describe("Platform fields of requests that do not carry them.")
      .prefault({}),
    allow: z
      .array(z.enum(GRANTS).describe("hedge: a second call; priority_high: to be served before others."))
      .describe("What its clients may ask for beyond the usual. Default: nothing.")
      .prefault([]),
    credentials: z
      .record(
        z.string(),
        z
          .union([
            text().describe("The key, best as a reference."),
            providerSchema
              .pick({ api_key: true, entra: true, credentials: true, role_arn: true, profile: true })
              .strict()
              .describe("In the provider's own shape."),
          ])
          .describe("What says who calls."),
      )
      .describe("Its own credentials, by provider: its calls there use them, and nobody else's.")
      .prefault({}),
    teams: z.record(z.string(), nothingYet).describe("Teams, by name.").prefault({}),
    applications: z.record(z.string(), nothingYet).describe("Applications, by name.").prefault({}),
  })
  .describe("Someone who is served, with what they may use.");

/** One of `keys:` a client credential that the config fixes. */
export const keySchema = z
  .strictObject({
    id: text().describe("Name of the key in logs: letters, digits and `-`."),
    hash: text().describe("`sha256:` and the SHA-256 of the whole key in hex.").optional(),
    key: text().describe("The key itself, as a reference: env:NAME or file:PATH.").optional(),
    tenant: text().describe("Its tenant. May be left out where no tenants are declared.").optional(),
    team: text().describe("Its team, one of the tenant's.").optional(),
    application: text().describe("Its application, one of the tenant's.").optional(),
    name: text().describe("What people call it.").optional(),
    models: modelsSchema("what the tenant may use"),
    expires: date("Day or time from which it is refused."),
  })
  .describe("A client key: hash or key.");

/** `admin:` who may look after the gateway. */
export const adminSchema = z
  .strictObject({
    keys: z
      .array(
        z
          .strictObject({
            hash: text().describe("`sha256:` and the SHA-256 of the whole key in hex.").optional(),
            key: text().describe("The key itself, as a reference: env:NAME or file:PATH.").optional(),
            role: z
              .enum(["admin", "operator", "viewer"])
              .describe("admin: all; operator: circuits, cache, explain, reads; viewer: reads."),
            tenant: text().describe("Binds the key to one tenant.").optional(),
          })
          .describe("An admin key: hash or key."),
      )
      .describe("Admin keys, besides SLUICEGATE_ADMIN_KEY.")
      .prefault([]),
  })
  .describe("Access to the admin API.");

/** One tenant as read. */
export type TenantInput = z.output<typeof tenantSchema>;

/** One client key as read. */
export type KeyInput = z.output<typeof keySchema>;

/** `admin` as read. */
export type AdminInput = z.output<typeof adminSchema>;

/** A model policy as read; an absent `allow` is undefined. */
export type ModelsInput = NonNullable<TenantInput["models"]>;
