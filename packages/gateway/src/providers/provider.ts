import type { CredentialUse } from "@sluicegate/contract";
import type { Deployment, ProviderConfig } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import { inOnePiece } from "../core/pieces.ts";
import type { Secret } from "../core/secret.ts";
import type { UpstreamRequest } from "../core/transport.ts";
import { accountToken } from "../protocols/account-token.ts";
import type { Protocol, Quirks, Target } from "../protocols/protocol.ts";
import type { Crossing } from "../protocols/translate.ts";
import { type Authenticated, type Authenticator, fixedKey } from "./authenticator.ts";

/** A provider ready to be called: WHOM we call. What is spoken is its protocol's business. */
export interface Provider {
  readonly config: ProviderConfig;
  readonly quirks: Quirks;
  /** What its calls prove themselves with. */
  readonly authenticator: Authenticator;
  /** What it speaks, the one first that a foreign client's call is translated to. */
  readonly protocols: readonly Protocol[];
  /** Which of them a model is reached by, where that is not all. */
  protocolsOf?(model: string): readonly Protocol[];
  /** What it is only taken to speak where a deployment's `api` says so. */
  readonly onlyNamed?: readonly Protocol[];
  /** The HTTP request that makes a call of a deployment, and what of the call it could not say. */
  request(wanted: Wanted): Prepared;
  /** The cheapest call that shows whether its credential is taken: its list of models. Absent: it has none that proves it. */
  listModels?(wanted: Pick<Wanted, "pool"> & { connectTimeoutMs: number }): Pick<Prepared, "request">;
  /** Every credential that a text of the provider's might quote; absent: those of `config`. */
  readonly secrets?: readonly Secret[];
}

/** A call, ready to be sent. */
export interface Prepared {
  /** A promise while a credential is being fetched, or the request signed. */
  request: UpstreamRequest | Promise<UpstreamRequest>;
  /** What it proves itself with: null until the request is there, and for servers that want nothing. */
  credential: { readonly use: CredentialUse | null };
  /** Hints that were dropped, in the client's words. */
  dropped: readonly string[];
  /** To be called when the call is over: its credential may be going. */
  over?(): void;
}

/** One call of one deployment, to be put into HTTP. */
export interface Wanted {
  call: Call;
  protocol: Protocol;
  deployment: Deployment;
  /** Present when the client speaks another dialect. */
  crossing: Crossing | null;
  /** Key of the connection pool. */
  pool: string;
  /** The client's headers, asked only for those that go on. */
  header: (name: string) => string | undefined;
}

/** What a provider file is given to build from. */
export interface ProviderParts {
  config: ProviderConfig;
  baseUrl: string;
  quirks: Quirks;
  protocols: readonly Protocol[];
  /** Where the vendor wants its key; default: a bearer token. */
  defaultAuth?: { header: string; prefix: string };
  /** Which of the protocols a model is reached by; default: all. */
  protocolsOf?: (model: string) => readonly Protocol[];
  /** What it is only taken to speak where a deployment's `api` says so. */
  onlyNamed?: readonly Protocol[];
  /** Paths and envelope of the provider's own; default: the protocols'. */
  envelope?: Envelope;
  /** Path of the list of models, where only those with a key see it. */
  modelsPath?: string | undefined;
  /** Tokens and signatures; default: the configured key. */
  authenticator?: Authenticator;
}

/** How a provider puts a protocol's call into HTTP where that is not as the protocol's own vendor does it. */
export interface Envelope {
  /** Behind the base URL, with its query. */
  path(protocol: Protocol, call: Call, deployment: Deployment): string;
  /** The body as the provider wants it. */
  body?(body: Buffer, protocol: Protocol, deployment: Deployment): Buffer;
  /** The dialect's headers as the provider wants them, flat, and what of them it does not take. */
  headers?(own: readonly string[], protocol: Protocol): { headers: readonly string[]; dropped: readonly string[] };
}

const BEARER = { header: "authorization", prefix: "Bearer " };
const USER_AGENT = "sluicegate";
const NONE: readonly string[] = [];

/** A provider that takes JSON posts with a fixed credential header: everything static is made once, here. */
export function jsonProvider(parts: ProviderParts): Provider {
  const { config, baseUrl, quirks, protocols, envelope } = parts;
  const authenticator = parts.authenticator ?? fixedKey(config, parts.defaultAuth ?? BEARER);
  const url = new URL(baseUrl);
  // Asked once: the URL makes a new text of each whenever it is asked.
  const { origin, search } = url;
  const account = accountToken(config.name);
  const basePath = url.pathname.replace(/\/+$/, "");
  const headers = ["accept-encoding", "identity", "user-agent", USER_AGENT];
  for (const [name, value] of Object.entries(config.headers)) headers.push(name.toLowerCase(), value.reveal());
  const jsonHeaders = ["content-type", "application/json", ...headers];
  const tls = config.tls
    ? {
        ...(config.tls.ca !== undefined && { ca: config.tls.ca }),
        ...(config.tls.cert !== undefined && { cert: config.tls.cert }),
        ...(config.tls.key && { key: config.tls.key.reveal() }),
      }
    : null;
  const pools = new Map<string, UpstreamRequest["pool"]>();
  const poolOf = (key: string): UpstreamRequest["pool"] => {
    const known = pools.get(key);
    if (known) return known;
    const { connections, proxy } = config;
    const made = { key, connections, ...(tls && { tls }), ...(proxy && { proxy }) };
    // Keys are names of the config's: as many as deployments.
    pools.set(key, made);
    return made;
  };
  const join = headerJoiner();
  const behind = pathJoiner(basePath, search);
  const { modelsPath } = parts;
  return {
    config,
    quirks,
    authenticator,
    protocols,
    ...(modelsPath !== undefined && {
      listModels: ({ pool, connectTimeoutMs }) =>
        signed(
          authenticator,
          {
            ...{ origin, method: "GET", headers, body: null, connectTimeoutMs },
            path: behind(modelsPath),
            pool: poolOf(pool),
          },
          join,
        ),
    }),
    ...(parts.protocolsOf && { protocolsOf: parts.protocolsOf }),
    ...(parts.onlyNamed && { onlyNamed: parts.onlyNamed }),
    request({ call, protocol, deployment, crossing, pool, header }) {
      const { model, sentAs, maxOutputTokens } = deployment;
      const target: Target = { model: sentAs ?? model, traitsOf: model, quirks, maxOutputTokens, account };
      const encoded = crossing?.encode(protocol, target);
      const contentType = encoded ? undefined : protocol.contentType?.(call);
      const spoken = protocol.upstreamHeaders?.(call, crossing === null) ?? NONE;
      const own = envelope?.headers?.(spoken, protocol) ?? { headers: spoken, dropped: NONE };
      const lost = encoded || quirks.strict === undefined ? undefined : new Set<string>();
      const body = encoded?.body ?? protocol.passRequest(call, target, lost);
      const fixed = contentType === undefined ? jsonHeaders : ["content-type", contentType, ...headers];
      const plain: UpstreamRequest = {
        origin,
        method: "POST",
        path: envelope
          ? basePath + envelope.path(protocol, call, deployment)
          : behind(protocol.upstreamPath(call, model)),
        headers: withForwarded(fixed, both(own.headers, encoded?.headers ?? NONE), config.forwardHeaders, header),
        body: envelope?.body?.(inOnePiece(body), protocol, deployment) ?? body,
        connectTimeoutMs: deployment.timeouts.connectMs,
        pool: poolOf(pool),
      };
      const dropped = encoded?.dropped ?? (lost ? [...lost] : NONE);
      const { request, credential } = signed(authenticator, plain, join);
      return { request, credential, dropped: own.dropped.length === 0 ? dropped : [...dropped, ...own.dropped] };
    },
  };
}

/** The protocols by which a deployment is reached. */
export function spokenBy(provider: Provider, { model, api }: Pick<Deployment, "model" | "api">): readonly Protocol[] {
  const spoken = provider.protocolsOf?.(model) ?? provider.protocols;
  const { onlyNamed } = provider;
  return onlyNamed?.some((protocol) => protocol.api === api) ? [...spoken, ...onlyNamed] : spoken;
}

/** The request, which is this call's own, with its credential: at once where that is at hand. */
function signed(
  authenticator: Authenticator,
  plain: UpstreamRequest,
  join: (some: string[], more: readonly string[]) => string[],
): Omit<Prepared, "dropped"> {
  const credential: { use: CredentialUse | null } = { use: null };
  const finish = ({ headers, use }: Authenticated): UpstreamRequest => {
    credential.use = use;
    if (headers.length > 0) plain.headers = join(plain.headers, headers);
    return plain;
  };
  const answer = authenticator.authenticate(plain);
  return { credential, request: answer instanceof Promise ? answer.then(finish) : finish(answer) };
}

/** Joins two lists of headers. The same two give the same list again, which the transport then need not write out again. */
function headerJoiner(): (some: string[], more: readonly string[]) => string[] {
  let lastSome: readonly string[] = NONE;
  let lastMore: readonly string[] = NONE;
  let joined: string[] = [];
  return (some, more) => {
    if (some !== lastSome || more !== lastMore) {
      lastSome = some;
      lastMore = more;
      joined = [...some, ...more];
    }
    return joined;
  };
}

/** Puts protocols' paths behind a base URL's. The same path gives the same text again, which the transport then knows. */
function pathJoiner(basePath: string, search: string): (own: string) => string {
  let lastOwn = "";
  let lastPath = pathBehind(basePath, lastOwn, search);
  return (own) => {
    if (own !== lastOwn) {
      lastOwn = own;
      lastPath = pathBehind(basePath, own, search);
    }
    return lastPath;
  };
}

const ENDS_IN_VERSION = /\/v\d+[a-z0-9]*$/i;
const BEGINS_WITH_VERSION = /^\/v\d/;

/**
 * A protocol's path behind the base URL's. One that brings its own version takes the place of the base's, so that a server
 * of several protocols needs one base URL. A query of the base URL's own goes behind the protocol's.
 */
function pathBehind(basePath: string, own: string, search: string): string {
  const path = (BEGINS_WITH_VERSION.test(own) ? basePath.replace(ENDS_IN_VERSION, "") : basePath) + own;
  if (search === "") return path;
  return path.includes("?") ? `${path}&${search.slice(1)}` : path + search;
}

/** The two lists in one, which is new only where both have something. */
function both(some: readonly string[], more: readonly string[]): readonly string[] {
  if (more.length === 0) return some;
  return some.length === 0 ? more : [...some, ...more];
}

function withForwarded(
  fixed: string[],
  own: readonly string[],
  names: readonly string[],
  header: (name: string) => string | undefined,
): string[] {
  if (names.length === 0 && own.length === 0) return fixed;
  const all = [...fixed, ...own];
  for (const name of names) {
    const value = header(name);
    if (value !== undefined) all.push(name, value);
  }
  return all;
}
