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
  /** The account's own ceiling, above those of its deployments. Absent: none. */
  limits?: Capacity;
}

/** Timeouts of one deployment, ms. `null`: not set here (ruling 4 gives the default). */
export interface DeploymentTimeouts {
  connectMs: number;
  firstTokenMs: number | null;
  idleMs: number;
}

/** When a deployment is taken for broken, and for well again (ruling 5). */
export interface BreakerConfig {
  /** Failures in a row that open it. */
  consecutive: number;
  /** Share of failures in the window that opens it, once there are `minRequests`. */
  errorRate: number;
  minRequests: number;
  windowMs: number;
  /** Opens when p95 stays over so many times its own baseline. */
  latencyFactor: number;
  /** How long it stays open before a probe may go. */
  recoveryMs: number;
  /** Probes in a row, one at a time, that have to go well before it closes. */
  probes: number;
}

/** What an allocation at a provider takes. Null: no ceiling of that kind. */
export interface Capacity {
  /** Requests a minute. */
  rpm: number | null;
  /** Tokens a minute, input and output together. */
  tpm: number | null;
  /** Calls at the same time. */
  concurrency: number | null;
}

/** A deployment's share of an allocation, and what of it tenants are sure of (LIMIT-4). */
export interface DeploymentLimits extends Capacity {
  /** By tenant. */
  floors: ReadonlyMap<string, Pick<Capacity, "rpm" | "tpm">>;
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
  /** What one call takes before anything is known of it, ms. Absent: not said. */
  expectedLatencyMs?: number;
  /** The highest class of data it may hold, by its place in `classifications`. Absent: the lowest only (ruling 7). */
  maxClassification?: string;
  /** Dedicated capacity: nobody else is served. Absent: everybody is. */
  tenants?: readonly string[];
  /** Absent: none. Deployments of one provider, model and region share one bucket (ruling 15). */
  limits?: DeploymentLimits;
  breaker: BreakerConfig;
  /** Prices with the date from which each holds (epoch ms), ascending; empty: no price is known. */
  prices: DatedPrice[];
}

/** How the deployments of a chain that passed the gates are ordered (ROUTE-7). */
export type Strategy = "ordered" | "weighted" | "cheapest" | "fastest" | "least_busy" | "health";

/** One arm of an experiment: so many percent of the conversations go to it first. */
export interface CanaryArm {
  deployment: string;
  /** Between 0 and 100; the arms of a route together at most 100, the rest is `stable`. */
  percent: number;
  variant: string;
  /** Feature flag that turns it off when it is false. Null: always on. */
  flag: string | null;
}

/** Where a branch of complexity routing leads: a deployment that goes first, or another alias. */
export interface ComplexityBranch {
  kind: "deployment" | "alias";
  name: string;
}

/** Complexity routing, measured on the last user message (ROUTE-8). */
export interface ComplexityConfig {
  cheap: ComplexityBranch;
  capable: ComplexityBranch;
  /** Characters under which a message without tools is simple, and over which it is not. */
  shortChars: number;
  longChars: number;
  /** More tools than this need the capable one. */
  tools: number;
  /** The classifier's score from which the capable one is taken, 0 to 1. */
  cut: number;
  /** How long the classifier may take; then the capable one is taken. */
  budgetMs: number;
  /** Null: what is ambiguous goes to the capable one. */
  classifier: { kind: "alias"; alias: string } | { kind: "http"; url: string } | null;
}

/** A stream slower than this over a window counts against its deployment (RES-14). */
export interface SlowStreamConfig {
  tokensPerSecond: number;
  windowMs: number;
  /** Ends it with an error event. */
  abort: boolean;
}

/** A second call, to the next of the chain, when the first one takes long (RES-8). */
export interface HedgeConfig {
  /** Delay, ms; or the deployment's own p95. */
  after: number | "p95";
  /** Hedges as a share of recent requests. */
  maxExtra: number;
}

/** Waiting for a place at a deployment that is full. */
export interface QueueConfig {
  maxWaitMs: number;
  /** Requests waiting at once for one deployment. */
  maxDepth: number;
  on: readonly ("concurrency" | "rate")[];
}

/** What a rule looks at; every field given must match, each with one of its values. */
export interface RuleMatch {
  classification?: readonly string[];
  task_class?: readonly string[];
  tenant?: readonly string[];
  team?: readonly string[];
  application?: readonly string[];
  agent?: readonly string[];
  alias?: readonly string[];
  /** By tag, the values of which one must be there. */
  tags?: Readonly<Record<string, readonly string[]>>;
}

/** What the caller IS decides where it goes (ROUTE-3). */
export interface RoutingRule {
  name: string;
  priority: number;
  when: RuleMatch;
  /** A match here takes the rule out. */
  unless: RuleMatch | null;
  chain: readonly string[];
  /** Shadow: decided and counted, not followed. */
  mode: "enforce" | "shadow";
}

/** Where alerts of some kinds go. */
export interface AlertTarget {
  url: Secret;
  format: "json" | "slack";
  /** Kinds of alerts, or all. */
  kinds: "*" | readonly string[];
}

/** Who is asked before a config that changes an alias's model is taken up. */
export type EvaluationGate =
  | { kind: "command"; command: string; timeoutMs: number }
  | { kind: "webhook"; url: Secret; timeoutMs: number };

/** Where what replicas share is kept. */
export type StateConfig = { kind: "memory" } | { kind: "redis"; url: Secret };

/** Feature flags: variables `<prefix><FLAG>` of the environment (OpenFeature). */
export interface FlagsConfig {
  provider: "env";
  prefix: string;
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
  strategy: Strategy;
  /** One for each entry of the chain; absent: all alike. */
  weights?: readonly number[];
  /** The p50 under which `cheapest` looks for the cheapest, ms; null: any. */
  latencySloMs: number | null;
  /** What makes a deployment a less liked one; only breakers and cooldowns stop traffic. */
  health: { errorCeiling: number; windowMs: number };
  /** Whole chains, by tenant (ruling 6). */
  tenantOverrides: ReadonlyMap<string, readonly string[]>;
  /** Empty: no experiment. */
  canary: readonly CanaryArm[];
  complexity: ComplexityConfig | null;
  slowStream: SlowStreamConfig | null;
  hedge: HedgeConfig | null;
  /** Every circuit is open: refuse, or try the least bad. */
  whenAllOpen: "refuse" | "least_bad";
  /** Every deployment cools: wait for the soonest when that fits the deadline, or refuse. */
  whenAllCooling: "wait" | "refuse";
  /** An overflow may go to a deployment with a larger window. */
  contextFallback: boolean;
  /** What stays at one deployment, so that its prompt cache hits. */
  affinity: "none" | "session" | "user";
  queue: QueueConfig;
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
  defaults: { classification: string | null; residency: string | null };
  /** What its clients may ask for beyond the usual (`hedge`, `priority_high`). Null: no tenants are declared, and everything is. */
  allow: readonly string[] | null;
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
  /** Null: nobody is asked. */
  gate: EvaluationGate | null;
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
  /** By priority, ascending; those of one priority as they are written. */
  rules: readonly RoutingRule[];
  /** Classes of data, ascending; empty: none are declared, and no class is looked at. */
  classifications: readonly string[];
  /** Names that stand for several regions. */
  regions: ReadonlyMap<string, readonly string[]>;
  /** Null: any name may be used. */
  taskClasses: readonly string[] | null;
  alerts: readonly AlertTarget[];
  /** Null: no flags; arms with one are on. */
  flags: FlagsConfig | null;
  state: StateConfig;
  tenants: ReadonlyMap<string, Tenant>;
  keys: readonly KeyEntry[];
  adminKeys: readonly AdminKey[];
  /** What is known of models by their names. */
  models: ModelCatalogue;
  /** Defaults for `provider/model` names that no route lists. */
  rawRoute: Omit<Route, "alias" | "chain">;
  /** Settings for deployments made on the fly from `provider/model`. */
  rawDeployment: Pick<Deployment, "region" | "capacity" | "timeouts" | "api" | "maxOutputTokens" | "breaker">;
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
