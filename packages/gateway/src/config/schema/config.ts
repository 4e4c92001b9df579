import { z } from "zod";
import { adminSchema, keySchema, tenantSchema } from "./access.ts";
import { deploymentSchema } from "./deployments.ts";
import { gatewaySchema, ledgerSchema } from "./gateway.ts";
import {
  alertSchema,
  classificationsSchema,
  flagsSchema,
  regionsSchema,
  stateSchema,
  taskClassesSchema,
} from "./installation.ts";
import { providerSchema } from "./providers.ts";
import { routeSchema } from "./routes.ts";
import { ruleSchema } from "./rules.ts";

/** The whole config file. The loader reads it section by section, so that one broken object does not hide the others' faults. */
export const configSchema = z
  .strictObject({
    gateway: gatewaySchema.optional(),
    state: stateSchema.optional(),
    ledger: ledgerSchema.optional(),
    classifications: classificationsSchema.optional(),
    regions: regionsSchema.optional(),
    task_classes: taskClassesSchema.optional(),
    providers: z.record(z.string(), providerSchema).describe("Accounts and servers, by name."),
    deployments: z
      .record(z.string(), deploymentSchema)
      .describe("Deployments, by name. `provider/model` in a chain needs none.")
      .optional(),
    routes: z.record(z.string(), routeSchema).describe("Aliases that callers ask for.").optional(),
    rules: z.array(ruleSchema).describe("Where what a caller is decides where it goes.").optional(),
    tenants: z
      .record(z.string(), tenantSchema)
      .describe("Who is served, by name. Absent: one tenant, `default`, that may use every alias.")
      .optional(),
    keys: z
      .array(keySchema)
      .describe("Client keys that are fixed here; others are made with `sluicegate keys create`.")
      .optional(),
    admin: adminSchema.optional(),
    alerts: z.array(alertSchema).describe("Who is told of trouble.").optional(),
    flags: flagsSchema.optional(),
  })
  .describe("Config of Sluicegate.");

/** Names of the sections. */
export const SECTIONS: readonly string[] = Object.keys(configSchema.shape);
