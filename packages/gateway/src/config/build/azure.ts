import { Secret } from "../../core/secret.ts";
import type { AzureConfig, EntraConfig } from "../snapshot.ts";
import { httpUrl } from "./base-url.ts";
import { errorIn } from "./entry.ts";
import { type Job, secretAt } from "./job.ts";
import { proxyFromEnvironment } from "./proxy.ts";

const AUTHORITY = "https://login.microsoftonline.com";
const SCOPE = "https://cognitiveservices.azure.com/.default";
/** The machine's own identity: no DNS, no proxy, only from the machine itself. */
const IMDS = "http://169.254.169.254";
const DATED = /^\d{4}-\d{2}-\d{2}(?:-preview)?$/;

/** What kind azure-openai is told beyond what every kind is, its faults told. */
export function azureOf(job: Job): AzureConfig {
  return { apiVersion: apiVersionOf(job), entra: job.input.entra === undefined ? null : entraOf(job, job.input.entra) };
}

/** `v1` needs none on the wire; `preview` is v1 with what is not final (WIRE B2). */
function apiVersionOf({ entry, input, problems }: Job): string | null {
  const { api_version: version } = input;
  if (version === undefined || version === "v1") return null;
  if (version !== "preview" && !DATED.test(version)) {
    const message = `\`${version}\` is no version of Azure's: a date such as 2024-10-21 or 2025-04-01-preview, \`v1\` or \`preview\``;
    errorIn(entry, ["api_version"], message, problems);
  }
  return version;
}

type EntraInput = NonNullable<Job["input"]["entra"]>;

/** A secret of the config, else the workload's federated token, else the machine's identity: as Azure's own libraries look for it. */
function entraOf(job: Job, given: EntraInput): EntraConfig {
  const { entry, input, environment, problems } = job;
  if (input.api_key !== undefined) {
    errorIn(entry, ["entra"], "`entra` stands in for `api_key`; leave one of them out", problems);
  }
  const tokenFile = environment.get("AZURE_FEDERATED_TOKEN_FILE") || null;
  if (given.client_secret === undefined && tokenFile === null) return managed(job, given);
  const tenant = given.tenant_id ?? (environment.get("AZURE_TENANT_ID") || undefined);
  const clientId = given.client_id ?? (environment.get("AZURE_CLIENT_ID") || undefined);
  for (const [key, value] of Object.entries({ tenant_id: tenant, client_id: clientId })) {
    if (value === undefined) errorIn(entry, ["entra"], `\`${key}\` is missing beside \`client_secret\``, problems);
  }
  const tokenUrl = `${authorityOf(job, given)}/${encodeURIComponent(tenant ?? "")}/oauth2/v2.0/token`;
  const shared = {
    tokenUrl,
    clientId: clientId ?? "",
    scope: scopeOf(job, given),
    proxy: input.proxy ?? proxyFromEnvironment(tokenUrl, environment),
  };
  if (given.client_secret === undefined) return { ...shared, flow: "workload", tokenFile: tokenFile ?? "" };
  return {
    ...shared,
    flow: "secret",
    clientSecret: secretAt(job, ["entra", "client_secret"], given.client_secret),
  };
}

/** App Service and its kin say where their endpoint is; virtual machines have theirs at a fixed address. */
function managed(job: Job, given: EntraInput): EntraConfig {
  const { entry, environment, problems } = job;
  for (const key of ["tenant_id", "authority"] as const) {
    if (given[key] === undefined) continue;
    const message = `\`${key}\` says nothing without \`client_secret\`: the machine's identity is used, and it has its own`;
    errorIn(entry, ["entra", key], message, problems);
  }
  const resource = scopeOf(job, given).replace(/\/\.default$/, "");
  const clientId = given.client_id ?? (environment.get("AZURE_CLIENT_ID") || null);
  const endpoint = environment.get("IDENTITY_ENDPOINT");
  const header = environment.get("IDENTITY_HEADER");
  if (endpoint && header && URL.canParse(endpoint)) {
    const url = `${endpoint}?api-version=2019-08-01`;
    return { flow: "managed", url, clientId, header: new Secret(header, "env:IDENTITY_HEADER"), resource };
  }
  const host = environment.get("AZURE_POD_IDENTITY_AUTHORITY_HOST");
  const base = host && URL.canParse(host) ? host.replace(/\/+$/, "") : IMDS;
  const url = `${base}/metadata/identity/oauth2/token?api-version=2018-02-01`;
  return { flow: "managed", url, clientId, header: null, resource };
}

function authorityOf({ entry, environment, problems }: Job, given: EntraInput): string {
  const written = given.authority ?? (environment.get("AZURE_AUTHORITY_HOST") || AUTHORITY);
  const read = httpUrl(written);
  if ("url" in read && read.url.search === "" && read.url.hash === "") return written.replace(/\/+$/, "");
  const fault = "fault" in read ? read.fault : "holds a query or a fragment";
  errorIn(
    entry,
    given.authority === undefined ? ["entra"] : ["entra", "authority"],
    `\`authority\` ${fault}`,
    problems,
  );
  return AUTHORITY;
}

function scopeOf({ entry, problems }: Job, given: EntraInput): string {
  const scope = given.scope ?? SCOPE;
  if (!/^\S+\/\.default$/.test(scope)) {
    errorIn(entry, ["entra", "scope"], "`scope` is that of an application: it ends in `/.default`", problems);
  }
  return scope;
}
