import { z } from "zod";
import { count, text } from "./fields.ts";

/** Far above what any vendor gives; a number beyond is a slip. */
const RPM_MAX = 10_000_000;
const TPM_MAX = 10_000_000_000;
const CONCURRENCY_MAX = 1_000_000;

const requests = "Requests a minute.";
const tokens = "Tokens a minute, input and output together.";

const capacity = {
  rpm: count(`${requests} Default: no ceiling.`, 1, RPM_MAX).optional(),
  tpm: count(`${tokens} Default: no ceiling.`, 1, TPM_MAX).optional(),
  concurrency: count("Calls at the same time. Default: no ceiling.", 1, CONCURRENCY_MAX).optional(),
};

/** `limits:` of a provider. */
export const capacitySchema = z
  .strictObject(capacity)
  .describe("What the account is given by the vendor, above the limits of its deployments.");

const floorSchema = z
  .strictObject({
    rpm: count(`${requests} Default: no floor.`, 1, RPM_MAX).optional(),
    tpm: count(`${tokens} Default: no floor.`, 1, TPM_MAX).optional(),
  })
  .describe("What nobody else can take from this tenant.");

/** `limits:` of a deployment. */
export const deploymentLimitsSchema = z
  .strictObject({
    ...capacity,
    floors: z
      .record(text(), floorSchema)
      .describe("Parts of these limits that tenants are sure of, by tenant.")
      .prefault({}),
  })
  .describe(
    "What the vendor gives this model: a full deployment is passed over. Deployments of one provider, model and region share it.",
  );

/** Limits as read. */
export type CapacityInput = z.output<typeof capacitySchema>;

/** A deployment's limits as read. */
export type DeploymentLimitsInput = z.output<typeof deploymentLimitsSchema>;
