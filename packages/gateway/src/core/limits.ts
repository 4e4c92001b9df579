const KIB = 1024;
const MIB = 1024 * KIB;

/** Every bound of the gateway in one place. Anything that can grow is held to one of these. */
export const LIMITS = {
  /** Request bodies, unless the config says otherwise (`gateway.body_limit`). */
  bodyBytesDefault: 32 * MIB,
  /** How long a client may take to send its headers, and then its whole body. */
  clientHeadersMs: 15_000,
  clientBodyMs: 60_000,
  /** A client that is answered while it still sends is listened to for this long and this much, so that it gets to read. */
  lingerMs: 2_000,
  lingerBytesMax: 64 * MIB,
  /** A body that nobody wants is read over up to here, so that its connection can be used again. */
  discardBytesMax: 64 * KIB,
  /** All request headers together. */
  headerBytesMax: 64 * KIB,
  headerCountMax: 200,
  /** Names of clients' headers are kept for the next request, up to this length. */
  headerNameCharsKept: 64,
  /** Names of answers' headers whose last line is kept. */
  answerHeaderNamesMax: 256,
  /** Nesting of a JSON request body, and its top-level members: each costs an object on top of its bytes. */
  jsonDepthMax: 100,
  jsonMembersMax: 250_000,
  /** Values of a JSON request body, at any depth: reading one costs far more than its two bytes on the wire. */
  jsonValuesMax: 500_000,
  /** A JSON answer, or an error body, of an upstream. */
  upstreamBodyBytesMax: 64 * MIB,
  upstreamErrorBytesMax: 64 * KIB,
  /** One SSE event of an upstream: images and audio come in single events. */
  sseEventBytesMax: 16 * MIB,
  /** A translated stream, as much as its writer may have to keep: some dialects repeat the whole answer at its end. */
  translatedStreamBytesMax: 64 * MIB,
  /** Choices of a stream, and tool calls of a choice: each is remembered until the stream ends. */
  streamItemsMax: 4_096,
  /** Bytes that wait for a client's socket before it counts as behind. */
  socketBufferBytes: 16 * KIB,
  /** Bytes of a stream held for a client that does not read, before the upstream is paused. */
  clientBufferBytesMax: 64 * KIB,
  /** Preamble held back before the first output. */
  preambleBytesMax: 1 * MIB,
  /** An idempotency key, and an answer kept under one. */
  idempotencyKeyCharsMax: 255,
  replayBytesMax: 1 * MIB,
  /** Calls to providers a request may cause, whatever its chain and retries say. */
  attemptsMax: 12,
  /** Deployments in one chain. */
  chainMax: 32,
  /** Tags of one request, and the length of any label a client may choose. */
  tagsMax: 32,
  labelCharsMax: 256,
  /** A score that a client posts, and the comment in it. */
  feedbackBodyBytesMax: 16 * KIB,
  feedbackCommentCharsMax: 2_000,
  /** The name of a model that a client asks for. */
  modelCharsMax: 512,
  /** Deployments made on the fly for `provider/model` names. */
  rawDeploymentsMax: 1_000,
  /** Plans kept for requests alike, and those of one caller's alias: they differ by dialect and by what they need. */
  usualPlansMax: 10_000,
  usualPlansOfAlias: 16,
  /** (deployment, model that answered) pairs that are remembered as told. */
  driftsMax: 1_000,
  /** (key, code) pairs whose refusals are counted at once, and the rows that each gets in a while. */
  refusalMetersMax: 10_000,
  refusalRowsPerWindow: 10,
  refusalWindowMs: 60_000,
  /** Output tokens of a generation that only shows that there is one, unless somebody wants another number. */
  smallOutputTokensDefault: 8,
  /** Readiness probes running at once. */
  probesAtOnce: 16,
  /** Recorded requests that a what-if takes again, and what it keeps of them: ways in which they change, and latencies. */
  whatIfRowsMax: 100_000,
  whatIfGroupsMax: 1_000,
  whatIfSamplesMax: 10_000,
  /** How long one answer of the shared store is waited for: a slow one must cost calls no more than a dead one. */
  storeAnswerMs: 50,
  /** Open connections to one deployment, unless `pool.connections` says otherwise. */
  connectionsDefault: 256,
  /**
   * Keys, aliases and deployments whose part of a row is kept as text, how many forms of it each, and how long a text.
   * With no room left, one in so many that are new is kept in the place of an old one.
   */
  rememberedKeysMax: 512,
  rememberedPerKey: 8,
  rememberedCharsMax: 2_048,
  rememberedUnwanted: 16,
  /** Sets of members that are told apart where objects become JSON. */
  memberFormsMax: 32,
  /** (alias, model) pairs of a deployment whose names are kept as they are sent with answers. */
  servedNamesMax: 8,
} as const;

/** Times that tests shorten, or make longer: a machine that is busy with other tests is no slow store. */
export type Waits = {
  readonly [Name in "clientHeadersMs" | "clientBodyMs" | "refusalWindowMs" | "storeAnswerMs"]: number;
};
