import { z } from "zod";
import { LIMITS } from "../../core/limits.ts";
import { BOUNDS } from "../bounds.ts";
import { KIND_NAMES } from "../kinds.ts";
import { PRESET_NAMES } from "../presets.ts";
import { capacitySchema } from "./capacity.ts";
import { count, duration, optionalDuration, text } from "./fields.ts";

const authSchema = z
  .strictObject({
    header: text().describe("Header that carries the key, for example x-api-key."),
    prefix: z.string().describe("What stands before the key in it, for example `Bearer `.").prefault(""),
  })
  .describe("How the key is sent, where it is not `authorization: Bearer KEY`.");

const tlsSchema = z
  .strictObject({
    ca: text().describe("Certificates to trust, PEM, usually file:PATH.").optional(),
    cert: text().describe("Client certificate, PEM, usually file:PATH.").optional(),
    key: text().describe("Key of the client certificate, PEM, usually file:PATH.").optional(),
  })
  .describe("TLS material for this provider.");

const entraSchema = z
  .strictObject({
    tenant_id: text().describe("Tenant of the application, a GUID or a domain. Default: AZURE_TENANT_ID.").optional(),
    client_id: text()
      .describe("The application, or the user-assigned identity of the machine. Default: AZURE_CLIENT_ID.")
      .optional(),
    client_secret: text()
      .describe("The application's secret, best as a reference. Without it: the workload's or the machine's identity.")
      .optional(),
    authority: text()
      .describe("Who gives tokens. Default: AZURE_AUTHORITY_HOST, else https://login.microsoftonline.com.")
      .optional(),
    scope: text().describe("What tokens are for. Default: https://cognitiveservices.azure.com/.default.").optional(),
  })
  .describe("Entra ID in place of a key. `{}`: the identity of the workload or of the machine.");

const probeSchema = z
  .strictObject({
    every: duration("Time from one probe of a deployment to the next, a tenth more or less; at least 1s.", "30s"),
    timeout: optionalDuration(
      "Time a probe may take, at most `every`. Default: 10s, or `every` where that is shorter.",
    ),
    max_output: count(
      "The most tokens a probe lets the model write; an API that takes no cap that small gets its smallest.",
      1,
      BOUNDS.probeOutputMax,
    ).prefault(LIMITS.smallOutputTokensDefault),
    failures: count(
      "Probes that must fail in a row before the deployment counts as failing.",
      1,
      BOUNDS.probeFailuresMax,
    ).prefault(1),
  })
  .describe(
    "Readiness of each deployment of this provider that a chain holds or that has a name: a real generation of a few tokens now and then. Its cost is recorded with purpose `probe` and charged to no tenant; what it finds is shown by /v1/health and /metrics.",
  );

/** One of `providers:` an account at a vendor, or a server of one's own. */
export const providerSchema = z
  .strictObject({
    kind: z.enum(KIND_NAMES).describe("Which API it speaks."),
    preset: z
      .enum(PRESET_NAMES)
      .describe("Which OpenAI-compatible server it is: gives the base URL and the server's quirks.")
      .optional(),
    base_url: text()
      .describe(
        "What the vendor's own SDK takes: with /v1 for the OpenAI family and Mistral, the host alone for Azure, Anthropic, Gemini, Cohere, Vertex and Bedrock. Default: the vendor's or the preset's.",
      )
      .optional(),
    endpoint: text().describe("azure-openai: the resource's address, https://NAME.openai.azure.com.").optional(),
    api_version: text()
      .describe("azure-openai: a dated version such as 2024-10-21, `v1` (default) or `preview`.")
      .optional(),
    entra: entraSchema.optional(),
    project: text().describe("vertex: the Google Cloud project. Default: the one of `credentials`.").optional(),
    location: text().describe("vertex: a region, `global`, `us` or `eu`.").optional(),
    credentials: text()
      .describe(
        "vertex: the JSON of a service account's key, usually file:PATH. Default: the machine's metadata server.",
      )
      .optional(),
    region: text().describe("bedrock: the region that is called, as in us-east-1. Default: AWS_REGION.").optional(),
    role_arn: text().describe("bedrock: a role to assume with the credentials that are found.").optional(),
    profile: text().describe("bedrock: a profile of AWS's own files. Default: the AWS credential chain.").optional(),
    token_url: text().describe("vertex: where tokens come from. Default: what `credentials` say.").optional(),
    package: text().describe("ai-sdk: the Vercel AI SDK provider package, as in @ai-sdk/xai.").optional(),
    export: text()
      .describe("ai-sdk: the package's function that makes a provider. Default: its only one called create….")
      .optional(),
    options: z
      .record(z.string(), z.json().describe("Any value; a text may be a reference."))
      .describe("ai-sdk: what that function is called with, as in `{ apiKey: env:XAI_API_KEY }`.")
      .optional(),
    api_key: text()
      .describe(
        "The account's key, best as a reference: env:NAME, file:PATH, vault:path#field, aws-sm:name#field or gcp-sm:resource.",
      )
      .optional(),
    headers: z
      .record(z.string(), text().describe("Value of the header; may be a reference."))
      .describe("Headers sent with every call.")
      .optional(),
    auth: authSchema.optional(),
    tls: tlsSchema.optional(),
    proxy: text()
      .describe("HTTP proxy for calls to this provider. Default: HTTPS_PROXY, unless NO_PROXY names the host.")
      .optional(),
    forward_headers: z
      .array(text().describe("Name of a header."))
      .describe("Client headers that go on to this provider.")
      .optional(),
    limits: capacitySchema.optional(),
    probe: probeSchema.optional(),
    pool: z
      .strictObject({
        connections: count("Open connections to one deployment.", 1, BOUNDS.connectionsMax).prefault(
          LIMITS.connectionsDefault,
        ),
      })
      .describe("Connections to each deployment of this provider.")
      .prefault({}),
  })
  .describe("An account at a vendor, or a server of your own.");

/** One provider as read. */
export type ProviderInput = z.output<typeof providerSchema>;
