import type { Secret } from "../../core/secret.ts";
import { BOUNDS } from "../bounds.ts";
import type { Environment } from "../env.ts";
import { KIND_KEYS, KIND_NAMES, KINDS } from "../kinds.ts";
import { presetNamed } from "../presets.ts";
import type { Problems } from "../problems.ts";
import type { ProviderInput } from "../schema/providers.ts";
import type { ProbeConfig, ProviderConfig, ProviderKind } from "../snapshot.ts";
import { nodeAt } from "../yaml/node.ts";
import { aiSdkOf } from "./ai-sdk.ts";
import { azureOf } from "./azure.ts";
import { httpUrl, isLoopback, readBaseUrl } from "./base-url.ts";
import { bedrockOf } from "./bedrock.ts";
import { capacityOf } from "./capacity.ts";
import { type Entry, errorAtKey, errorIn, warnIn } from "./entry.ts";
import { forwardedHeaderFault, headerNameFault, headerValueFault } from "./header-rules.ts";
import { type Job, secretAt } from "./job.ts";
import { proxyFromEnvironment } from "./proxy.ts";
import { vertexOf } from "./vertex.ts";

/** What only some kinds are told. */
const OWN: Readonly<Partial<Record<ProviderKind, (job: Job) => Partial<ProviderConfig>>>> = {
  "azure-openai": (job) => ({ azure: azureOf(job) }),
  vertex: (job) => ({ vertex: vertexOf(job) }),
  bedrock: (job) => ({ aws: bedrockOf(job) }),
  "ai-sdk": (job) => ({ aiSdk: aiSdkOf(job) }),
};

/** A provider ready for use, its faults told; what is returned then is not used. */
export function buildProvider(
  entry: Entry<ProviderInput>,
  input: ProviderInput,
  environment: Environment,
  problems: Problems,
): ProviderConfig {
  const job: Job = { entry, input, preset: presetNamed(input.preset ?? ""), environment, problems };
  const baseUrl = baseUrlOf(job);
  checkKindAndPreset(job);
  const headers = headersOf(job);
  checkKey(job, baseUrl, headers);
  return {
    name: entry.name,
    kind: input.kind,
    preset: input.preset ?? null,
    baseUrl,
    apiKey: input.api_key === undefined ? null : secretAt(job, ["api_key"], input.api_key),
    auth: input.auth === undefined ? null : { header: input.auth.header.toLowerCase(), prefix: input.auth.prefix },
    headers,
    forwardHeaders: forwardedHeaders(job),
    connections: input.pool.connections,
    tls: tlsOf(job),
    proxy: proxyOf(job, baseUrl, environment),
    ...(input.probe && { probe: probeOf(job, input.probe) }),
    ...(input.limits && { limits: capacityOf(entry, input.limits, problems) }),
    ...OWN[input.kind]?.(job),
  };
}

/** How long a probe may take, ms, unless it is told. */
const PROBE_TIMEOUT_MS = 10_000;

function probeOf({ entry, problems }: Job, probe: NonNullable<ProviderInput["probe"]>): ProbeConfig {
  const { every, timeout, max_output, failures } = probe;
  if (every < BOUNDS.probeEveryMsMin) {
    errorIn(entry, ["probe", "every"], "`every` is under 1s: a probe is a real call of the model", problems);
  }
  if (timeout !== undefined && timeout > every) {
    const message = "`timeout` is longer than `every`: a probe ends before the next one begins";
    errorIn(entry, ["probe", "timeout"], message, problems);
  }
  return {
    everyMs: every,
    timeoutMs: timeout ?? Math.min(PROBE_TIMEOUT_MS, every),
    maxOutputTokens: max_output,
    failures,
  };
}

function checkKindAndPreset({ entry, input, problems }: Job): void {
  if (input.preset !== undefined && input.kind !== "openai-compatible") {
    errorIn(
      entry,
      ["preset"],
      `\`preset\` has no meaning for kind ${input.kind}, only for openai-compatible`,
      problems,
    );
  }
  const { keys: own = [], lacks = [] } = KINDS[input.kind];
  for (const key of lacks) {
    if (!nodeAt(entry.node, [key])) continue;
    errorIn(entry, [key], `\`${key}\` has no meaning for kind ${input.kind}; leave it out`, problems);
  }
  for (const key of KIND_KEYS) {
    if (input[key] === undefined || own.includes(key)) continue;
    const whose = KIND_NAMES.filter((kind) => KINDS[kind].keys?.includes(key)).join(" and ");
    errorIn(entry, [key], `\`${key}\` has no meaning for kind ${input.kind}, only for ${whose}`, problems);
  }
  if (input.endpoint !== undefined && input.base_url !== undefined) {
    errorIn(entry, ["base_url"], "`base_url` stands in for `endpoint`; leave one of them out", problems);
  }
}

function baseUrlOf({ entry, input, preset, environment, problems }: Job): string | null {
  const key = input.base_url === undefined && input.endpoint !== undefined ? "endpoint" : "base_url";
  const written = input[key];
  const facts = KINDS[input.kind];
  if (written !== undefined) {
    const read = readBaseUrl(written);
    if ("url" in read) {
      const { pathname } = new URL(read.url);
      if (facts.hostOnly) {
        const end = (facts.adds ?? /\/v\d+[a-z0-9]*$/i).exec(pathname)?.[0];
        const message = `\`${key}\` ends in \`${end}\`, which calls add themselves; leave it out`;
        if (end !== undefined) errorIn(entry, [key], message, problems);
      } else if (input.kind !== "simulator" && pathname === "/") {
        const message = `\`base_url\` has no path; the vendor's own SDK usually takes one that ends in /v1`;
        warnIn(entry, ["base_url"], message, problems);
      }
      return read.url;
    }
    errorIn(entry, [key], `\`${key}\` ${read.fault}`, problems);
    return null;
  }
  if (input.kind === "simulator") return null;
  const vendorUrl = facts.baseUrl ?? facts.baseUrlFrom?.(input, environment);
  if (vendorUrl !== undefined) return vendorUrl;
  // A kind whose URL follows from other keys has told which of them is missing.
  if (facts.baseUrlFrom) return null;
  if (facts.keys?.includes("endpoint")) {
    errorIn(entry, [], "`endpoint` is missing: https://NAME.openai.azure.com of the resource", problems);
    return null;
  }
  if (preset?.baseUrl) return preset.baseUrl;
  const message = preset
    ? `\`base_url\` is missing: \`${preset.name}\` is wherever you run it, as in http://127.0.0.1:8000/v1`
    : "`preset` or `base_url` is missing: without either there is nowhere to call";
  errorIn(entry, [], message, problems);
  return null;
}

function checkKey(job: Job, baseUrl: string | null, headers: Record<string, Secret>): void {
  const { entry, input, preset, problems } = job;
  const ownServer = input.base_url !== undefined;
  const kind = KINDS[input.kind];
  const needed = !ownServer && input.entra === undefined && (kind.needsKey || preset?.needsKey === true);
  const authorized = "authorization" in headers || kind.auth.header in headers;
  if (input.api_key === undefined && needed && !authorized) {
    const variable = preset?.keyVariable ?? kind.keyVariable;
    const other = kind.keys?.includes("entra") ? ", or `entra`" : "";
    errorIn(entry, [], `\`api_key\` is missing; usually \`api_key: env:${variable}\`${other}`, problems);
  }
  warnOfPlainHttp(job, baseUrl);
  if (input.api_key === undefined) {
    if (input.auth) errorIn(entry, ["auth"], "`auth` says how to send `api_key`, and there is none", problems);
    return;
  }
  const fault = headerValueFault(input.api_key);
  if (fault) errorIn(entry, ["api_key"], `\`api_key\` ${fault}`, problems);
  const header = input.auth?.header.toLowerCase() ?? kind.auth.header;
  const nameFault = headerNameFault(header);
  if (nameFault) errorIn(entry, ["auth", "header"], `\`${header}\` ${nameFault}`, problems);
  const prefixFault = headerValueFault(input.auth?.prefix ?? "");
  if (prefixFault) errorIn(entry, ["auth", "prefix"], `\`prefix\` ${prefixFault}`, problems);
  if (header in headers) errorIn(entry, ["headers"], `\`${header}\` is set twice: here and from \`api_key\``, problems);
}

function warnOfPlainHttp({ entry, input, problems }: Job, baseUrl: string | null): void {
  const fetchesTokens = input.entra !== undefined || input.credentials !== undefined;
  if (input.api_key === undefined && !fetchesTokens) return;
  if (!baseUrl?.startsWith("http:") || isLoopback(new URL(baseUrl).hostname)) return;
  const key = input.base_url === undefined && input.endpoint !== undefined ? "endpoint" : "base_url";
  warnIn(entry, [key], "plain http carries the key readable for everyone on the way; use https", problems);
}

function headersOf(job: Job): Record<string, Secret> {
  const headers: Record<string, Secret> = Object.create(null);
  for (const [name, value] of Object.entries(job.input.headers ?? {})) {
    const fault = headerNameFault(name) ?? (name.toLowerCase() in headers ? "stands here twice" : null);
    if (fault) errorAtKey(job.entry, ["headers"], name, `\`${name}\` ${fault}`, job.problems);
    const valueFault = headerValueFault(value);
    if (valueFault) errorIn(job.entry, ["headers", name], `the value of \`${name}\` ${valueFault}`, job.problems);
    headers[name.toLowerCase()] = secretAt(job, ["headers", name], value);
  }
  return headers;
}

function forwardedHeaders({ entry, input, problems }: Job): string[] {
  const names: string[] = [];
  for (const [i, name] of (input.forward_headers ?? []).entries()) {
    const fault = forwardedHeaderFault(name);
    if (fault) errorIn(entry, ["forward_headers", i], `\`${name}\` ${fault}`, problems);
    names.push(name.toLowerCase());
  }
  return [...new Set(names)];
}

function tlsOf(job: Job): ProviderConfig["tls"] {
  const tls = job.input.tls;
  if (!tls) return null;
  for (const part of ["ca", "cert", "key"] as const) {
    const pem = tls[part];
    if (pem === undefined || pem.includes("-----BEGIN ")) continue;
    errorIn(
      job.entry,
      ["tls", part],
      `\`${part}\` is not PEM text; write file:PATH to read it from a file`,
      job.problems,
    );
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    errorIn(job.entry, ["tls"], "`cert` and `key` go together; one of them is missing", job.problems);
  }
  return {
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: secretAt(job, ["tls", "key"], tls.key) }),
  };
}

function proxyOf({ entry, input, problems }: Job, baseUrl: string | null, environment: Environment): string | null {
  if (input.proxy === undefined) return baseUrl === null ? null : proxyFromEnvironment(baseUrl, environment);
  const read = httpUrl(input.proxy);
  if ("fault" in read) errorIn(entry, ["proxy"], `\`proxy\` ${read.fault}`, problems);
  return input.proxy;
}
