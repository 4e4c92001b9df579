import { createPrivateKey } from "node:crypto";
import { Secret } from "../../core/secret.ts";
import type { GoogleAuthConfig, VertexConfig } from "../snapshot.ts";
import { httpUrl } from "./base-url.ts";
import { errorIn } from "./entry.ts";
import { type Job, secretAt } from "./job.ts";
import { proxyFromEnvironment } from "./proxy.ts";

const TOKEN_URL = "https://oauth2.googleapis.com/token";
/** The metadata server answers at this address wherever Google's machines are; no DNS, no proxy. */
const METADATA_HOST = "169.254.169.254";
const LOCATION = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const PROJECT = /^(?:[a-z0-9.-]+:)?[a-z0-9][a-z0-9-]*$/;

/** What kind vertex is told beyond what every kind is, its faults told. */
export function vertexOf(job: Job): VertexConfig {
  const { entry, input, problems } = job;
  const account = input.credentials === undefined ? null : serviceAccount(job, input.credentials);
  const project = input.project ?? account?.project;
  if (project === undefined) {
    errorIn(entry, [], "`project` is missing: the Google Cloud project that is called, and billed", problems);
  } else if (!PROJECT.test(project)) {
    errorIn(entry, ["project"], `\`${project.slice(0, 80)}\` is not the id of a project, as in my-project-1`, problems);
  }
  if (input.location === undefined) {
    const message = "`location` is missing: a region such as europe-west4, or `global`, `us` or `eu`";
    errorIn(entry, [], message, problems);
  } else if (!LOCATION.test(input.location)) {
    const message = `\`${input.location.slice(0, 80)}\` is not a location, as in europe-west4`;
    errorIn(entry, ["location"], message, problems);
  }
  return { project: project ?? "", location: input.location ?? "", google: authOf(job, account) };
}

function authOf(job: Job, account: Account | null): GoogleAuthConfig | null {
  const { entry, input, environment, problems } = job;
  if (input.api_key !== undefined && input.credentials !== undefined) {
    errorIn(
      entry,
      ["credentials"],
      "`credentials` and `api_key` are two ways to say who calls; leave one out",
      problems,
    );
  }
  if (input.token_url !== undefined) {
    const read = httpUrl(input.token_url);
    if ("fault" in read) errorIn(entry, ["token_url"], `\`token_url\` ${read.fault}`, problems);
    if (input.credentials === undefined) {
      const message = "`token_url` has no meaning without `credentials`; another metadata server is GCE_METADATA_HOST";
      errorIn(entry, ["token_url"], message, problems);
    }
  }
  if (input.api_key !== undefined) return null;
  if (account) {
    const tokenUrl = input.token_url ?? account.tokenUrl;
    const proxy = input.proxy ?? (URL.canParse(tokenUrl) ? proxyFromEnvironment(tokenUrl, environment) : null);
    return { flow: "service_account", tokenUrl, email: account.email, key: account.key, keyId: account.keyId, proxy };
  }
  const host = environment.get("GCE_METADATA_HOST") || METADATA_HOST;
  const path = "/computeMetadata/v1/instance/service-accounts/default/token";
  return { flow: "metadata", url: `${/^https?:\/\//.test(host) ? host.replace(/\/+$/, "") : `http://${host}`}${path}` };
}

interface Account {
  email: string;
  key: Secret;
  keyId: string | null;
  tokenUrl: string;
  project: string | undefined;
}

/** The key file of a service account; null when it is none, which is told. */
function serviceAccount(job: Job, text: string): Account | null {
  const fault = (message: string): null => {
    errorIn(job.entry, ["credentials"], `\`credentials\` ${message}`, job.problems);
    return null;
  };
  const json = parsed(text);
  if (!json) return fault("is not JSON; write file:PATH of the key that Google Cloud made");
  const field = (name: string): string | undefined => {
    const value = json[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const type = field("type");
  if (type !== "service_account") {
    return fault(`is of type ${JSON.stringify(type ?? null)?.slice(0, 60)}; this build takes service_account`);
  }
  const [email, pem, tokenUrl] = [field("client_email"), field("private_key"), field("token_uri") ?? TOKEN_URL];
  if (email === undefined || pem === undefined) return fault("has no `client_email` or no `private_key`");
  if (!isRsaKey(pem)) return fault("has a `private_key` that is no RSA key in PEM");
  if ("fault" in httpUrl(tokenUrl)) return fault("has a `token_uri` that is no URL");
  const { origin } = secretAt(job, ["credentials"], text);
  return {
    ...{ email, tokenUrl, key: new Secret(pem, origin), keyId: field("private_key_id") ?? null },
    project: field("project_id"),
  };
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}
