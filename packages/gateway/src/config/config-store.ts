import { dirname } from "node:path";
import { saveLastGood } from "./last-good.ts";
import { type LoadedConfig, type LoadOptions, loadConfig } from "./load.ts";
import { type GateQuestion, modelChanges } from "./model-changes.ts";
import { NOWHERE } from "./problems.ts";
import { formatProblems } from "./report.ts";
import type { ConfigProblem, EvaluationGate, Snapshot } from "./snapshot.ts";
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

/** What the gate of a config is asked, and where its command runs. */
export interface GateRequest {
  gate: EvaluationGate;
  question: GateQuestion;
  folder: string;
}

/** What it said. */
export type GateVerdict = { allow: true } | { allow: false; reason: string };

/** Asks a gate. Never rejects: who cannot be asked says no. Ends when `signal` does. */
export type AskGate = (request: GateRequest, signal: AbortSignal) => Promise<GateVerdict>;

/** A config that a gate has to see first. */
interface Asked {
  request: GateRequest;
  loaded: Served;
}

type Served = LoadedConfig & { snapshot: Snapshot };

/** Holds the snapshot that is served, and swaps it whole. */
export class ConfigStore {
  readonly #options: LoadOptions;
  readonly #listeners = new Set<ConfigListener>();
  readonly #reloaded: (result: ReloadResult) => void;
  readonly #ask: AskGate;
  readonly #ending = new AbortController();
  #served: Served;
  #last: ReloadResult;
  /** Files of the last load, also of a refused one: it may be put right in any of them. */
  #watched: readonly string[];
  #queue: Promise<unknown> = Promise.resolve();
  /** Reloads, which may wait for a gate; what gates need not be asked of does not wait with them. */
  #reloads: Promise<unknown> = Promise.resolve();
  #watch: FileWatch | null = null;
  #closed = false;

  private constructor(options: LoadOptions, served: Served, reloaded: (result: ReloadResult) => void, ask: AskGate) {
    this.#options = options;
    this.#ask = ask;
    this.#served = served;
    this.#reloaded = reloaded;
    this.#last = resultOf(served, true, true);
    this.#watched = served.source.watched;
  }

  /**
   * Loads the config, or throws ConfigRefused. `reloaded` is told of every reload that a changed file caused, good or bad.
   * From then on `options` are loaded again at each reload, and `ask` asks the gates that a config has.
   */
  static async open(
    options: LoadOptions,
    reloaded: (result: ReloadResult) => void = () => undefined,
    ask: AskGate = () => Promise.resolve({ allow: true }),
  ): Promise<ConfigStore> {
    const loaded = await loadConfig(options);
    if (!isServed(loaded)) throw new ConfigRefused(loaded);
    const kept = await keep(options, loaded);
    options.secrets?.retain(documentsOf(loaded));
    return new ConfigStore(options, { ...loaded, problems: [...loaded.problems, ...kept] }, reloaded, ask);
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

  /**
   * Loads again; a good config that its gate allows is swapped in, another changes nothing. One at a time, in order.
   */
  reload(): Promise<ReloadResult> {
    const next = this.#reloads.then(() => this.#gated((allowed) => this.#reloadNow(allowed), true));
    this.#reloads = next.catch(() => undefined);
    return next;
  }

  /**
   * Takes up what the references of the served config now give, and nothing else: files that were changed, and perhaps
   * refused, are not read. A value that the config's checks, or its gate, refuse changes nothing. Waits for no reload whose
   * gate is being asked.
   */
  renew(): Promise<ReloadResult> {
    return this.#gated((allowed) => this.#renewNow(allowed), false);
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
    this.#ending.abort();
    this.#watch?.close();
    this.#watch = null;
    this.#listeners.clear();
  }

  /**
   * Takes a step, and where a gate has to be asked first, takes it again once that has allowed it. The config is then loaded
   * anew, because the answer may take minutes; when it has changed meanwhile the gate is asked again.
   */
  async #gated(step: (allowed: string | null) => Promise<ReloadResult | Asked>, isReload: boolean) {
    let allowed: string | null = null;
    for (;;) {
      const seen: string | null = allowed;
      const came: ReloadResult | Asked = await this.#inTurn(() => step(seen));
      if (!("request" in came)) return came;
      const verdict = await this.#ask(came.request, this.#ending.signal);
      if (this.#closed) return { ...this.#last, changed: false };
      if (!verdict.allow) {
        const refused = gateRefusal(came.loaded, verdict.reason);
        if (isReload) this.#last = refused;
        return refused;
      }
      allowed = identityOf(came.request);
    }
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const next = this.#queue.then(step);
    this.#queue = next.catch(() => undefined);
    return next;
  }

  /** What a gate has to be asked before `loaded` is served; null: nothing. The gate that is served now cannot be reloaded away. */
  #toAsk(loaded: Served, allowed: string | null): Asked | null {
    const before = this.#served.snapshot;
    const gate = before.gateway.gate ?? loaded.snapshot.gateway.gate;
    if (gate === null) return null;
    const changes = modelChanges(before, loaded.snapshot);
    if (changes.length === 0) return null;
    const question = { from: before.revision, to: loaded.snapshot.revision, changes };
    const { file } = loaded.source;
    const request = { gate, question, folder: file === null ? this.#options.environment.cwd : dirname(file) };
    return identityOf(request) === allowed ? null : { request, loaded };
  }

  async #reloadNow(allowed: string | null): Promise<ReloadResult | Asked> {
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
    const asked = this.#toAsk(loaded, allowed);
    if (asked) return asked;
    const changed = loaded.fingerprint !== before.fingerprint;
    const kept = await keep(this.#options, loaded);
    this.#options.secrets?.retain(documentsOf(loaded));
    this.#served = changed ? loaded : { ...loaded, snapshot: before.snapshot };
    const late = changed ? [...needsRestart(before.snapshot, loaded.snapshot), ...this.#tell(before.snapshot)] : [];
    this.#last = resultOf({ ...loaded, problems: [...loaded.problems, ...kept, ...late] }, true, changed);
    return this.#last;
  }

  async #renewNow(allowed: string | null): Promise<ReloadResult | Asked> {
    const before = this.#served;
    const { texts } = before.source;
    // Without a file there is nothing to refer to but the variables that the process was started with.
    if (texts === null) return { ok: true, changed: false, problems: [], report: "" };
    this.#options.environment.reread?.();
    const loaded = await loadConfig({ ...this.#options, texts });
    if (this.#closed) return { ...this.#last, changed: false };
    if (!isServed(loaded)) return resultOf(loaded, false, false);
    const asked = this.#toAsk(loaded, allowed);
    if (asked) return asked;
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

/** What a gate has allowed: the very change that it was asked of. */
function identityOf({ question: { from, to, changes } }: GateRequest): string {
  return JSON.stringify([from, to, changes]);
}

function gateRefusal(loaded: Served, reason: string): ReloadResult {
  const message = `the gate does not allow this config, and the one before it is served on: ${reason}`;
  const problem: ConfigProblem = { severity: "error", ...NOWHERE, path: "gateway.gate", message };
  return resultOf({ ...loaded, problems: [...loaded.problems, problem] }, false, false);
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
    state: [stateUrl(before), stateUrl(next)],
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

function stateUrl({ state }: Snapshot): string {
  return state.kind === "redis" ? state.url.reveal() : state.kind;
}
