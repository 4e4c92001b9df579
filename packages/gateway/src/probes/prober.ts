import type { ErrorClass } from "@sluicegate/contract";
import type { Deployment, ProbeConfig, ProviderConfig } from "../config/snapshot.ts";
import type { Cancel } from "../core/cancel.ts";
import { LIMITS } from "../core/limits.ts";
import type { Authenticator } from "../providers/authenticator.ts";
import { callForSelf } from "../stages/own-call.ts";
import type { DataPlane } from "../stages/plane.ts";
import { keysOf } from "../stages/route.ts";
import { smallGeneration } from "../stages/small-generation.ts";
import { ProbeLoops, type ProbeOutcome, type ProbeStanding, type ProbeTarget } from "./probe-loops.ts";

/** Told of every probe that came to an end: what readiness means for traffic is its listeners' business. */
export type ProbeListener = (deployment: string, outcome: ProbeOutcome) => void;

/** Who is there and has no time, or dislikes the words, may well have its model at hand. */
const UNCLEAR: readonly ErrorClass[] = ["rate_limited", "content_filtered"];

/**
 * Readiness of the deployments of providers that are to be probed (SPEC PROV-3): a real small generation now and then, by the
 * same way and with the same credential as clients' calls, since "the server is up" and "the weights are warm" differ.
 * It learns and tells; it takes nothing out of routing.
 */
export class Prober {
  readonly #plane: DataPlane;
  readonly #loops: ProbeLoops;
  /** Deployments of which it has been said that they cannot be probed. */
  #unprobed: ReadonlySet<string> = new Set();

  constructor(plane: DataPlane, listener: ProbeListener = () => {}) {
    this.#plane = plane;
    const { clock, random, log } = plane;
    this.#loops = new ProbeLoops({
      ...{ clock, random, atOnce: LIMITS.probesAtOnce },
      told: (deployment, outcome, before) => {
        if (before !== null) this.#tellChange(deployment, outcome, before);
        listener(deployment, outcome);
      },
      fault: (deployment, cause) => log.fault(`probe of ${deployment}`, cause),
    });
  }

  /** Probes what the config of now wants probed, and nothing else. */
  follow(): void {
    const { snapshot, providers } = this.#plane.runtime();
    const targets: ProbeTarget[] = [];
    const unprobed = new Set<string>();
    for (const deployment of snapshot.deployments.values()) {
      const config = snapshot.providers.get(deployment.provider);
      const provider = providers.get(deployment.provider);
      if (!config?.probe || !provider) continue;
      if (smallGeneration(provider, deployment)) targets.push(this.#target(deployment, config, config.probe));
      else unprobed.add(deployment.name);
    }
    for (const name of unprobed) {
      if (this.#unprobed.has(name)) continue;
      this.#plane.log.warn("it is not probed: its provider has neither chat nor embeddings for it", {
        deployment: name,
      });
    }
    this.#unprobed = unprobed;
    this.#loops.follow(targets);
  }

  /** How everything that is probed stands, by deployment. */
  standings(): ReadonlyMap<string, ProbeStanding> {
    return this.#loops.standings();
  }

  /** Ends it for good. Resolves when the last probe is over and recorded. */
  close(): Promise<void> {
    return this.#loops.close();
  }

  #target(deployment: Deployment, { kind, preset, baseUrl }: ProviderConfig, probe: ProbeConfig): ProbeTarget {
    const { name, provider, model, sentAs, api, capabilities } = deployment;
    return {
      deployment: name,
      key: JSON.stringify([provider, model, sentAs, api, capabilities, kind, preset, baseUrl, probe]),
      everyMs: probe.everyMs,
      failures: probe.failures,
      probe: (cancel) => this.#probe(deployment, probe, cancel),
    };
  }

  async #probe(deployment: Deployment, probe: ProbeConfig, cancel: Cancel): Promise<ProbeOutcome | null> {
    const runtime = this.#plane.runtime();
    const provider = runtime.providers.get(deployment.provider);
    const small = provider && smallGeneration(provider, deployment, probe.maxOutputTokens);
    if (!provider || !small) return null;
    const answer = await callForSelf(this.#plane, {
      ...{ purpose: "probe", tenant: null, deployment, provider, small, cancel },
      pool: keysOf(runtime, "", deployment).pool,
      timeoutMs: probe.timeoutMs,
    });
    if (!answer || answer.failure?.class === "cancelled") return null;
    const { failure, latencyMs, record } = answer;
    if (failure === null) return { result: "ready", errorClass: null, latencyMs };
    const { use } = record.credential;
    // A newer credential is looked for, as after any refused call; the next probe has it.
    if (failure.class === "auth_failed" && use) {
      void heard(provider.authenticator.refused(use, Date.parse(record.attempt.headers["date"] ?? "")));
    }
    return { result: UNCLEAR.includes(failure.class) ? "unclear" : "failing", errorClass: failure.class, latencyMs };
  }

  #tellChange(deployment: string, { result, errorClass, latencyMs }: ProbeOutcome, before: string): void {
    const { log } = this.#plane;
    const facts = { deployment, before, latency_ms: latencyMs };
    if (result === "ready") log.info("its model answers", facts);
    else log.warn("its model does not answer", { ...facts, error_class: errorClass });
  }
}

/** Whatever comes of it is told elsewhere. */
async function heard(answer: ReturnType<Authenticator["refused"]>): Promise<void> {
  try {
    await answer;
  } catch {
    // The credential stays what it is.
  }
}
