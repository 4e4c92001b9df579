import type { Clock } from "../core/clock.ts";
import { awsRegion } from "./aws-region.ts";
import { BOUNDS } from "./bounds.ts";
import { redisFault } from "./build/installation.ts";
import type { Environment } from "./env.ts";
import { NOWHERE, type Problems } from "./problems.ts";
import { GRANTS } from "./schema/access.ts";
import { AZURE_STARTER, BEDROCK_STARTER, LOCAL_SERVERS, STARTER_PROVIDERS, STATE_VARIABLE } from "./starter-models.ts";
import { fromValue, type MapNode } from "./yaml/node.ts";

/**
 * Asks a model server on loopback (GET `url`, the server's `/v1/models`) for the ids of its models; null when none
 * answers. It may take as long as it likes: nobody waits for it longer than 300 ms.
 */
export type Probe = (url: string) => Promise<string[] | null>;

const PROBE_MS = 300;
/** Port of the gateway when nothing says otherwise: what listens there may be another gateway. */
const OWN_PORT = 8_080;
/** Models that do not chat. */
const NOT_CHAT = /embed|rerank|whisper|bge-|clip/i;
/** Ids from a server are not ours: nothing in them may be read as a reference or a pattern. */
const MODEL_ID = /^[A-Za-z0-9._:/@+-]{1,200}$/;

interface Found {
  name: string;
  config: Record<string, unknown>;
  models: { default: string; fast: string };
}

/**
 * The config of a start without one: a provider for every key in the environment and every local model server that
 * answers, the simulator when there is neither; aliases `default` and `fast`; one tenant that may use it all.
 */
export async function zeroConfig(
  options: { environment: Environment; clock: Clock; probe?: Probe | undefined; port?: number | undefined },
  problems: Problems,
): Promise<MapNode> {
  const vendors = vendorsFound(options.environment);
  const local = options.probe ? await localServers(options.probe, options.port ?? OWN_PORT, options.clock) : [];
  const found = [...vendors, ...local];
  const azure = azureFound(options.environment, problems);
  const bedrock = bedrockFound(options.environment, problems);
  const answering = found.length > 0 ? [...found] : [azure ?? bedrock ?? SIMULATOR];
  found.push(...[azure, bedrock].filter((one) => one !== null));
  if (found.length === 0) found.push(SIMULATOR);
  const chain = (alias: "default" | "fast"): string[] =>
    answering.map(({ name, models }) => `${name}/${models[alias]}`);
  const tree = fromValue(
    {
      providers: Object.fromEntries(found.map(({ name, config }) => [name, config])),
      routes: { default: { chain: chain("default") }, fast: { chain: chain("fast") } },
      tenants: {
        default: { models: { allow: ["*", ...found.map(({ name }) => `${name}/*`)] }, allow: [...GRANTS] },
      },
      ...(sharedState(options.environment, problems) && { state: `env:${STATE_VARIABLE}` }),
    },
    NOWHERE,
  );
  if (tree.kind !== "map") throw new TypeError("zero config is a map");
  return tree;
}

const SIMULATOR: Found = {
  name: "sim",
  config: { kind: "simulator" },
  models: { default: "echo", fast: "echo" },
};

function vendorsFound(environment: Environment): Found[] {
  return STARTER_PROVIDERS.filter(({ keyVariable }) => environment.get(keyVariable)).map(
    ({ name, kind, preset, keyVariable, models }) => ({
      name,
      config: { kind, preset, api_key: `env:${keyVariable}` },
      models,
    }),
  );
}

/** Azure, where both its variables are set. Its own are told apart by the resource, so one without the other is a slip. */
function azureFound(environment: Environment, problems: Problems): Found | null {
  const { name, keyVariable, endpointVariable, models } = AZURE_STARTER;
  const [key, endpoint] = [environment.get(keyVariable), environment.get(endpointVariable)];
  if (key && endpoint) {
    const config = { kind: "azure-openai", endpoint: `env:${endpointVariable}`, api_key: `env:${keyVariable}` };
    return { name, config, models };
  }
  if (key) {
    const message = `${keyVariable} is set, but ${endpointVariable} is not, so there is nowhere to call; it is not used`;
    problems.warn(NOWHERE, keyVariable, message);
  }
  return null;
}

/** Bedrock, where there are credentials of AWS's and a region. */
function bedrockFound(environment: Environment, problems: Problems): Found | null {
  const { name, keyVariable, credentials, models } = BEDROCK_STARTER;
  const hasKey = Boolean(environment.get(keyVariable));
  const group = credentials.find((variables) => variables.every((variable) => environment.get(variable)));
  if (!hasKey && !group) return null;
  if (awsRegion({}, environment) === undefined) {
    const message = `${keyVariable} is set, but AWS_REGION is not, so there is nowhere to call; it is not used`;
    // Who is at home in AWS has a profile set, for other ends.
    if (hasKey) problems.warn(NOWHERE, keyVariable, message);
    return null;
  }
  return { name, config: { kind: "bedrock", ...(hasKey && { api_key: `env:${keyVariable}` }) }, models };
}

/** A Redis in the environment is shared by replicas; what is none is passed over, as it may be meant for something else. */
function sharedState(environment: Environment, problems: Problems): boolean {
  const url = environment.get(STATE_VARIABLE);
  const fault = url ? redisFault(url) : null;
  if (fault !== null) {
    problems.warn(NOWHERE, STATE_VARIABLE, `${STATE_VARIABLE} ${fault}; it is not used`);
  }
  return Boolean(url) && fault === null;
}

async function localServers(probe: Probe, ownPort: number, clock: Clock): Promise<Found[]> {
  const asked = LOCAL_SERVERS.filter(({ port }) => port !== ownPort).map(async ({ preset, port }) => {
    const baseUrl = `http://127.0.0.1:${port}/v1`;
    const ids = await within(PROBE_MS, probe, `${baseUrl}/models`, clock);
    const model = firstChatModel(ids);
    if (model === undefined) return null;
    const config = { kind: "openai-compatible", preset, base_url: baseUrl };
    return { name: preset, config, models: { default: model, fast: model } };
  });
  return (await Promise.all(asked)).filter((found) => found !== null);
}

function firstChatModel(ids: unknown): string | undefined {
  if (!Array.isArray(ids)) return undefined;
  const known = ids.slice(0, BOUNDS.probedModelsMax).filter((id) => typeof id === "string" && MODEL_ID.test(id));
  return known.find((id) => !NOT_CHAT.test(id));
}

/** What the probe says in time; null when it fails or is late. */
function within(ms: number, probe: Probe, url: string, clock: Clock): Promise<string[] | null> {
  return new Promise((resolve) => {
    const timer = clock.after(ms, () => resolve(null));
    // A probe that throws before it returns a promise is a failed one, too.
    Promise.resolve()
      .then(() => probe(url))
      .then(resolve, () => resolve(null))
      .finally(() => timer.cancel());
  });
}
