import { saveLastGood } from "./last-good.ts";
import { type LoadedConfig, type LoadOptions, loadConfig } from "./load.ts";
import { NOWHERE } from "./problems.ts";
import { formatProblems } from "./report.ts";
import type { ConfigProblem, Snapshot } from "./snapshot.ts";
import { type FileWatch, watchFiles } from "./watch.ts";

/** A config that cannot be served. The message is the whole report, with lines of the file. */
export class ConfigRefused extends Error {
  readonly problems: readonly ConfigProblem[];

  constructor(loaded: LoadedConfig) {
    super(formatProblems(loaded.problems, loaded.frame));
    this.name = "ConfigRefused";
    this.problems = loaded.problems;
  }
}

/** What a reload came to. Not ok: the config before it is served on. */
export interface ReloadResult {
  ok: boolean;
  /** False when nothing was different, and then no listener was called. */
  changed: boolean;
  problems: readonly ConfigProblem[];
  /** The problems for people, with lines of the file; empty without any. */
  report: string;
}

/** Called after the swap; may read `next` from the store already. */
export type ConfigListener = (next: Snapshot, previous: Snapshot) => void;

type Served = LoadedConfig & { snapshot: Snapshot };

/** Holds the snapshot that is served, and swaps it whole. */
export class ConfigStore {
  readonly #options: LoadOptions;
  readonly #listeners = new Set<ConfigListener>();
  readonly #reloaded: (result: ReloadResult) => void;
  #served: Served;
  #last: ReloadResult;
  /** Files of the last load, also of a refused one: it may be put right in any of them. */
  #watched: readonly string[];
  #queue: Promise<unknown> = Promise.resolve();
  #watch: FileWatch | null = null;
  #closed = false;

  private constructor(options: LoadOptions, served: Served, reloaded: (result: ReloadResult) => void) {
    this.#options = options;
    this.#served = served;
    this.#reloaded = reloaded;
    this.#last = resultOf(served, true, true);
    this.#watched = served.source.watched;
  }

  /**
   * Loads the config, or throws ConfigRefused. `reloaded` is told of every reload that a changed file caused, good or bad.
   * From then on `options` are loaded again at each reload.
   */
  static async open(
    options: LoadOptions,
    reloaded: (result: ReloadResult) => void = () => undefined,
  ): Promise<ConfigStore> {
    const loaded = await loadConfig(options);
    if (!isServed(loaded)) throw new ConfigRefused(loaded);
    const kept = await keep(options, loaded);
    options.secrets?.retain(documentsOf(loaded));
    return new ConfigStore(options, { ...loaded, problems: [...loaded.problems, ...kept] }, reloaded);
  }

  /** The snapshot to work with; take it once a request. */
  get current(): Snapshot {
    return this.#served.snapshot;
  }

  /** Where the served config came from. */
  get source(): LoadedConfig["source"] {
    return this.#served.source;
  }

  /** ok: the files as they are. last_good: they could not be read at the start. stale: they were changed, and refused. */
  get state(): "ok" | "last_good" | "stale" {
    if (!this.#last.ok) return "stale";
    return this.#served.source.keptAt === null ? "ok" : "last_good";
  }

  /** What the load or the last reload had to say. */
  get lastResult(): ReloadResult {
    return this.#last;
  }

  /** Loads again; a good config is swapped in, a bad one changes nothing. One at a time, in order. */
  reload(): Promise<ReloadResult> {
    const next = this.#queue.then(() => this.#reloadNow());
    this.#queue = next.catch(() => undefined);
    return next;
  }

  /**
   * Takes up what the references of the served config now give, and nothing else: files that were changed, and perhaps
   * refused, are not read. A value that the config's checks refuse changes nothing.
   */
  renew(): Promise<ReloadResult> {
    const next = this.#queue.then(() => this.#renewNow());
    this.#queue = next.catch(() => undefined);
    return next;
  }

  /** Calls `listener` after each swap; returns what takes it off again. */
  onChange(listener: ConfigListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reloads whenever a file of the config changes, from now until `close`. */
  watch(): void {
    if (this.#watch) return;
    this.#watch = watchFiles(
      () => this.#watched,
      () => void this.reload().then(this.#reloaded),
      this.#options.clock,
    );
    // What changed between the load and now has raised no event.
    void this.reload().then((result) => {
      if (result.changed || !result.ok) this.#reloaded(result);
    });
  }

  /** Ends the watch. A reload that is under way changes nothing any more. */
  close(): void {
    this.#closed = true;
    this.#watch?.close();
    this.#watch = null;
    this.#listeners.clear();
  }

  async #reloadNow(): Promise<ReloadResult> {
    this.#options.environment.reread?.();
    // A file that is gone now is a mistake of the moment: what is served stays, so nothing is taken from the data dir.
    const loaded = await loadConfig({ ...this.#options, dataDir: null });
    if (this.#closed) return { ...this.#last, changed: false };
    const before = this.#served;
    this.#watched = [...new Set([...loaded.source.watched, ...before.source.watched])];
    if (!isServed(loaded)) {
      this.#last = resultOf(loaded, false, false);
      return this.#last;
    }
    const changed = loaded.fingerprint !== before.fingerprint;
    const kept = await keep(this.#options, loaded);
    this.#options.secrets?.retain(documentsOf(loaded));
    this.#served = changed ? loaded : { ...loaded, snapshot: before.snapshot };
    const late = changed ? [...needsRestart(before.snapshot, loaded.snapshot), ...this.#tell(before.snapshot)] : [];
    this.#last = resultOf({ ...loaded, problems: [...loaded.problems, ...kept, ...late] }, true, changed);
    return this.#last;
  }

  async #renewNow(): Promise<ReloadResult> {
    const before = this.#served;
    const { texts } = before.source;
    // Without a file there is nothing to refer to but the variables that the process was started with.
    if (texts === null) return { ok: true, changed: false, problems: [], report: "" };
    this.#options.environment.reread?.();
    const loaded = await loadConfig({ ...this.#options, texts });
    if (this.#closed) return { ...this.#last, changed: false };
    if (!isServed(loaded)) return resultOf(loaded, false, false);
    const changed = loaded.fingerprint !== before.fingerprint;
    if (changed) {
      this.#served = { ...before, snapshot: loaded.snapshot, fingerprint: loaded.fingerprint };
      this.#tell(before.snapshot);
    }
    return resultOf(loaded, true, changed);
  }

  /** A listener that throws does not keep the others, or the reload, from going on. */
  #tell(previous: Snapshot): ConfigProblem[] {
    const faults: ConfigProblem[] = [];
    for (const listener of [...this.#listeners]) {
      try {
        listener(this.current, previous);
      } catch (thrown) {
        const message = `a part of the gateway did not take up the new config: ${String(thrown)}`;
        faults.push({ severity: "warning", ...NOWHERE, path: "", message });
      }
    }
    return faults;
  }
}

function documentsOf({ source }: LoadedConfig): Set<string> {
  return new Set(source.documents.values());
}

function isServed(loaded: LoadedConfig): loaded is Served {
  return loaded.snapshot !== null;
}

function resultOf({ problems, frame }: LoadedConfig, ok: boolean, changed: boolean): ReloadResult {
  return { ok, changed, problems, report: formatProblems(problems, frame) };
}

/** Keeps the texts for a start without their files. A disk that does not take them is a warning, not a failure. */
async function keep({ dataDir, clock }: LoadOptions, { source }: LoadedConfig): Promise<ConfigProblem[]> {
  if (dataDir === null || source.texts === null || source.keptAt !== null) return [];
  try {
    await saveLastGood(dataDir, source.texts, clock.now());
    return [];
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code ?? "unknown";
    const message = `the last good config cannot be kept in ${dataDir} (${code}): a start without the file would fail`;
    return [{ severity: "warning", ...NOWHERE, path: "", message }];
  }
}

/** What is taken up only when the process starts. */
function needsRestart(before: Snapshot, next: Snapshot): ConfigProblem[] {
  const parts = {
    "gateway.listen": [before.gateway.listen, next.gateway.listen],
    ledger: [before.ledger, next.ledger],
  };
  return Object.entries(parts)
    .filter(([, [was, is]]) => JSON.stringify(was) !== JSON.stringify(is))
    .map(([path]) => ({
      severity: "warning",
      ...NOWHERE,
      path,
      message: "changed; this takes effect at the next start",
    }));
}
