/** Bounds of the config itself: it is read whole, on the thread that serves requests. */
export const BOUNDS = {
  /** One config file or overlay. */
  fileBytesMax: 4 * 1024 * 1024,
  /** A file that a reference names. */
  referenceBytesMax: 1024 * 1024,
  /** Maps, lists and values after aliases are expanded. */
  nodesMax: 100_000,
  /** Nesting. */
  depthMax: 64,
  /** Characters of a name: alias, deployment, tenant and so on. */
  nameCharsMax: 128,
  /** Calls to one deployment that a route may ask for, and connections to it. */
  connectionsMax: 65_536,
  /** Models, and days on which models end, in one catalogue; and its file. */
  catalogueEntriesMax: 10_000,
  catalogueBytesMax: 4 * 1024 * 1024,
  /** Between two readiness probes of one deployment, at least. */
  probeEveryMsMin: 1_000,
  /** Output tokens of a readiness probe, and failed ones in a row before it counts. */
  probeOutputMax: 64,
  probeFailuresMax: 10,
  /** Before the second call of a hedge, and requests waiting for one deployment. */
  hedgeAfterMsMax: 600_000,
  queueDepthMax: 100_000,
  /** Classes of data, task classes, groups of regions. */
  classesMax: 64,
  taskClassesMax: 1_000,
  regionGroupsMax: 256,
  /** Rules, and who is told of alerts. */
  rulesMax: 1_000,
  alertTargetsMax: 32,
  /** Models kept of one local server that answers a probe. */
  probedModelsMax: 100,
} as const;
