import type { Capability } from "../core/call.ts";
import type { DatedPrice } from "../core/price.ts";
import type { Secret } from "../core/secret.ts";
import type { ModelCatalogue, RetirementDay } from "./catalogue/model-catalogue.ts";

/** Provider kinds this build speaks to. */
export type ProviderKind =
  | "openai"
  | "azure-openai"
  | "openai-compatible"
  | "anthropic"
  | "gemini"
  | "vertex"
  | "bedrock"
  | "cohere"
  | "mistral"
  | "ai-sdk"
  | "simulator";

/** How Entra ID is asked for tokens. `proxy` is that of the token calls; a machine's own endpoint has none. */
export type EntraConfig =
  | { flow: "secret"; tokenUrl: string; clientId: string; clientSecret: Secret; scope: string; proxy: string | null }
  | { flow: "workload"; tokenUrl: string; clientId: string; tokenFile: string; scope: string; proxy: string | null }
  | { flow: "managed"; url: string; clientId: string | null; header: Secret | null; resource: string };

/** What only kind azure-openai is told. */
export interface AzureConfig {
  /** A date, or `preview`; null: the v1 surface, which has no version. */
  apiVersion: string | null;
  /** Null: a key, or nothing. */
  entra: EntraConfig | null;
}

/** How Google is asked for tokens. */
export type GoogleAuthConfig =
  | {
      flow: "service_account";
      tokenUrl: string;
      email: string;
      key: Secret;
      keyId: string | null;
      proxy: string | null;
    }
  | { flow: "metadata"; url: string };

/** What only kind vertex is told. */
export interface VertexConfig {
  project: string;
  location: string;
  /** Null: an API key, or nothing. */
  google: GoogleAuthConfig | null;
}

/** What only kind bedrock is told: where, and as whom. */
export interface AwsConfig {
  /** Empty where nothing is signed and `base_url` says where. */
  region: string;
  /** A role that is assumed with the credentials found. */
  roleArn: string | null;
  /** A profile of AWS's own files. */
  profile: string | null;
  /** Keys of the environment; null: whatever AWS's own chain finds. */
  keys: { accessKeyId: string; secretAccessKey: Secret; sessionToken: Secret | null } | null;
}

/** What only kind ai-sdk is told. */
export interface AiSdkConfig {
  package: string;
  /** The function that makes a provider; null: the package has one. */
  export: string | null;
  /** What it is called with: values of JSON, secrets among them. */
  options: Readonly<Record<string, unknown>>;
  /** Where the package is looked for first. */
  folder: string;
}

/** How the deployments of a provider are probed for readiness. */
export interface ProbeConfig {
  everyMs: number;
  /** For the whole answer. Not longer than `everyMs`. */
  timeoutMs: number;
  maxOutputTokens: number;
  /** Failed probes in a row that make a deployment a failing one. */
  failures: number;
}

/** An account at a vendor, or a server of one's own. */
export interface ProviderConfig {
  name: string;
  kind: ProviderKind;
  /** Preset of an openai-compatible provider, for example `groq`. */
  preset: string | null;
  /** What the vendor's own SDK takes, without a trailing slash; with `/v1` for the OpenAI family. Simulator: null until started. */
  baseUrl: string | null;
  /** Null for servers that want none. */
  apiKey: Secret | null;
  auth: { header: string; prefix: string } | null;
  /** Extra headers for every call; values may be secret. */
  headers: Record<string, Secret>;
  /** Client headers that go on to this provider, lower case. */
  forwardHeaders: string[];
  connections: number;
  tls: { ca?: string; cert?: string; key?: Secret } | null;
  proxy: string | null;
  /** Absent: nothing is probed. */
  probe?: ProbeConfig;
  /** Present for kind azure-openai. */
  azure?: AzureConfig;
  /** Present for kind vertex. */
  vertex?: VertexConfig;
  /** Present for kind bedrock. */
  aws?: AwsConfig;
  /** Present for kind ai-sdk. */
  aiSdk?: AiSdkConfig;
}

/** Timeouts of one deployment, ms. `null`: not set here (ruling 4 gives the default). */
export interface DeploymentTimeouts {
  connectMs: number;
  firstTokenMs: number | null;
  idleMs: number;
}

/** One model on one provider: the thing that is routed to. */
export interface Deployment {
  name: string;
  provider: string;
  model: string;
  region: string | null;
  capacity: "payg" | "provisioned" | "self_hosted";
  timeouts: DeploymentTimeouts;
  /** Which API of the provider is called (`chat`, `responses`, `messages`, …); null: the client's own where there is one. */
  api: string | null;
  /** What the provider calls it where that is not the model's name: an Azure deployment. Absent: the model's name. */
  sentAs?: string;
  /** The most the model can write; null: not known. */
  maxOutputTokens: number | null;
  /** What it can do (ruling 8). Absent: not known, and everything is allowed. */
  capabilities?: readonly Capability[];
  /** Tokens of input and output together. Absent: not known, and any length is let through. */
  contextWindow?: number;
  /** When it stops answering. Absent: no day is known. */
  retires?: RetirementDay;
  /** Prices with the date from which each holds (epoch ms), ascending; empty: no price is known. */
  prices: DatedPrice[];
}

/** One alias and the ordered deployments behind it. */
export interface Route {
  alias: string;
  chain: string[];
  fallback: boolean;
  timeouts: { hopMs: number | null; totalMs: number | null; streamMaxMs: number };
  retries: { attempts: number; baseMs: number; capMs: number; budget: number };
  /** Silence after which a stream commits with a ping; null: never. */
  keepaliveMs: number | null;
  /** Fields a deployment cannot express are dropped and listed, instead of taking it out of the chain. */
  dropUnsupported: boolean;
}

/**
 * Which names a caller may use: aliases, `provider/model`, `provider/*`, `deployment:NAME`. `allow: "*"`, or a `"*"` in
 * the list, means every alias; raw names need a pattern of their own. The loader has checked that every name exists.
 */
export interface ModelPolicy {
  allow: "*" | string[];
  deny: string[];
}

/** One tenant. */
export interface Tenant {
  name: string;
  /** Absent: nothing is allowed. */
  models: ModelPolicy | null;
  /** Platform fields its requests must carry. */
  require: string[];
  defaults: { classification: string | null };
  teams: string[];
  applications: string[];
  /** Providers as this tenant calls them, with credentials of its own; absent: none. By the provider's name. */
  credentials?: ReadonlyMap<string, ProviderConfig>;
}

/** A client credential, by hash. */
export interface KeyEntry {
  id: string;
  /** sha256 of the whole key, lower-case hex. */
  hash: string;
  tenant: string;
  team: string | null;
  application: string | null;
  name: string | null;
  /** Narrows the tenant's policy; null: the tenant's own. */
  models: ModelPolicy | null;
  /** Epoch ms, or null for no end. */
  expiresAt: number | null;
  source: "config" | "created" | "dev";
}

/** An admin credential, by hash. */
export interface AdminKey {
  hash: string;
  role: "admin" | "operator" | "viewer";
  /** Bound to one tenant, and blind to the rest. */
  tenant: string | null;
}

/** What the gateway itself is told. */
export interface GatewayConfig {
  listen: { host: string; port: number };
  /** True when the port was named by the user: a taken one is then an error, not a reason to move on. */
  portFixed: boolean;
  region: string | null;
  bodyLimitBytes: number;
  drainDelayMs: number;
  drainTimeoutMs: number;
  /** How long a value of a secret manager is used before it is read anew. */
  secretRefreshMs: number;
  expose: "full" | "minimal";
  /** Names behind which a vendor may put another model are refused. */
  strictPins: boolean;
}

/** Where rows go. */
export interface LedgerConfig {
  /** SQLite file; null: `<data-dir>/ledger.sqlite`. */
  path: string | null;
  fsync: boolean;
  spool: { maxBytes: number; onFull: "refuse" | "drop" };
}

/** Everything the data plane reads: frozen, swapped whole at a reload. */
export interface Snapshot {
  /** Short hash of the effective config: the same text gives the same revision. */
  revision: string;
  loadedAt: number;
  gateway: GatewayConfig;
  ledger: LedgerConfig;
  providers: ReadonlyMap<string, ProviderConfig>;
  deployments: ReadonlyMap<string, Deployment>;
  routes: ReadonlyMap<string, Route>;
  tenants: ReadonlyMap<string, Tenant>;
  keys: readonly KeyEntry[];
  adminKeys: readonly AdminKey[];
  /** What is known of models by their names. */
  models: ModelCatalogue;
  /** Defaults for `provider/model` names that no route lists. */
  rawRoute: Omit<Route, "alias" | "chain">;
  /** Settings for deployments made on the fly from `provider/model`. */
  rawDeployment: Pick<Deployment, "region" | "capacity" | "timeouts" | "api" | "maxOutputTokens">;
  warnings: readonly ConfigProblem[];
}

/** One thing wrong or doubtful in a config, at its place. Lines and columns count from 1; file null: not from a file. */
export interface ConfigProblem {
  severity: "error" | "warning";
  file: string | null;
  line: number | null;
  column: number | null;
  /** Path of the key: `routes.default.chain[1]`. */
  path: string;
  message: string;
}
