import type { Deployment, Snapshot } from "../config/snapshot.ts";
import type { Timer } from "../core/clock.ts";
import type { Alert } from "./alert.ts";
import { AlertSender } from "./alert-sender.ts";
import { aliasesOf } from "./aliases-of.ts";
import { ALERT_BOUNDS } from "./bounds.ts";
import type { DeliveryParts } from "./delivery.ts";
import { retiring, retiringAlert, type UsersOf } from "./retiring.ts";

/** What a circuit did. `key` is a deployment's name, or that of a tenant's own one. */
export interface BreakerNews {
  kind: "opened" | "half_open" | "closed" | "cooled";
  key: string;
  /** What opened it, or the error class that cools it. */
  why: string | null;
  /** Elsewhere: another replica saw it, and tells of it. */
  by: "here" | "elsewhere" | "hand";
}

/** What came of a provider's new credential. */
export interface CredentialNews {
  kind: "rotated" | "refused";
  provider: string;
  tenant: string | null;
  generation: number;
}

/** What a desk is made from. */
export interface AlertDeskParts extends DeliveryParts {
  /** Who uses a deployment whose model ends; absent: only aliases are named. */
  usersOf?: UsersOf;
}

/** What opens a circuit, in words. */
const OPENED_FOR: ReadonlyMap<string, string> = new Map([
  ["consecutive", "too many calls in a row have failed"],
  ["error_rate", "too large a share of its calls fails"],
  ["latency", "it answers far slower than it used to"],
  ["probe", "it failed again when it was tried"],
  ["hand", "it was opened by hand"],
]);

/** Makes alerts of what the parts of the gateway notice. None of it throws, waits, or takes longer than making a sentence. */
export class AlertDesk {
  readonly #parts: AlertDeskParts;
  readonly #sender: AlertSender;
  #snapshot: Snapshot;
  #daily: Timer | null = null;
  #closed = false;

  constructor(parts: AlertDeskParts, snapshot: Snapshot) {
    this.#parts = parts;
    this.#sender = new AlertSender(parts);
    this.#snapshot = snapshot;
    this.follow(snapshot);
  }

  /** Takes up a config: its targets, the ends of its models; what it has mended or left out is over. */
  follow(snapshot: Snapshot): void {
    const before = this.#snapshot;
    this.#snapshot = snapshot;
    this.#sender.follow(snapshot.alerts);
    this.#resolveMended(before);
    this.#lookAtEnds();
  }

  /** A circuit opened or closed, or a deployment cools because its credential is refused. */
  onBreakerEvent({ kind, key, why, by }: BreakerNews): void {
    const about = this.#about(key);
    if (kind === "opened") {
      const aliases = aliasesOf(this.#snapshot, about.deployment);
      const alert: Alert = {
        ...{ kind: "breaker_opened", subject: key, ...about },
        ...(aliases.length === 1 && aliases[0] !== undefined && { alias: aliases[0] }),
        text: `the circuit of ${key} is open: ${OPENED_FOR.get(why ?? "") ?? "its calls fail"}${aliases.length > 0 ? `; behind ${aliases.join(", ")}` : ""}`,
      };
      if (by === "elsewhere") this.#sender.note(alert);
      else this.#sender.raise(alert);
    } else if (kind === "closed") {
      if (by === "elsewhere") this.#sender.forget("breaker_opened", key);
      else this.#sender.resolve("breaker_opened", key, `the circuit of ${key} is closed again`);
    } else if (kind === "cooled" && why === "auth_failed" && by === "here") {
      const provider = this.#snapshot.deployments.get(about.deployment)?.provider ?? about.deployment.split("/", 1)[0];
      this.#sender.raise({
        ...{ kind: "credential_failure", subject: credentialSubject(provider ?? key, about.tenant ?? null), ...about },
        text: `provider ${provider} refuses the credential in use for ${key}`,
        quietMs: ALERT_BOUNDS.everyMs,
      });
    }
  }

  /** A provider took, or refused, a new credential. */
  onCredential({ kind, provider, tenant, generation }: CredentialNews): void {
    const subject = credentialSubject(provider, tenant);
    const whose = tenant === null ? "" : ` of tenant ${tenant}`;
    if (kind === "rotated")
      return this.#sender.resolve(
        "credential_failure",
        subject,
        `provider ${provider} takes its credential${whose} again`,
      );
    this.#sender.raise({
      ...{ kind: "credential_failure", subject, scope: `provider:${provider}`, ...(tenant !== null && { tenant }) },
      text: `provider ${provider} refuses its new credential${whose} (generation ${generation}); the old one stays in use`,
    });
  }

  /** Another model answered than the one that is pinned. Called for every such answer: it is over after an hour without one. */
  onDrift({ name, model }: Pick<Deployment, "name" | "model">, answered: string): void {
    this.#sender.raise({
      ...{ kind: "model_drift", subject: pin(name, model), deployment: name },
      text: `deployment ${name} pins ${model}, but ${answered} answers`,
      quietMs: ALERT_BOUNDS.everyMs,
    });
  }

  /** Something was used whose price nobody knows. Called for every such request: it is over after an hour without one. */
  onMissingPrice({ name, model }: Pick<Deployment, "name" | "model">): void {
    this.#sender.raise({
      ...{ kind: "missing_price", subject: name, deployment: name },
      text: `nobody knows what ${model} of deployment ${name} costs: its requests count as $0; set its prices`,
      quietMs: ALERT_BOUNDS.everyMs,
    });
  }

  /** Ends it; what has not arrived never will. */
  close(): void {
    this.#closed = true;
    this.#daily?.cancel();
    this.#sender.close();
  }

  /** A circuit's key as an alert's fields: tenants with credentials of their own have circuits of their own. */
  #about(key: string): { deployment: string; tenant?: string } {
    const at = key.lastIndexOf(" of ");
    const tenant = key.slice(at + 4);
    if (at < 0 || !this.#snapshot.tenants.has(tenant)) return { deployment: key };
    return { deployment: key.slice(0, at), tenant };
  }

  #resolveMended(before: Snapshot): void {
    const { deployments, providers } = this.#snapshot;
    const isGone = (name: string): boolean => before.deployments.has(name) && !deployments.has(name);
    const pins = new Set([...deployments.values()].map(({ name, model }) => pin(name, model)));
    for (const { kind, subject, deployment = "", scope } of this.#sender.alerts()) {
      const configured = deployments.get(deployment);
      const mended =
        (kind === "model_drift" && configured !== undefined && !pins.has(subject)) ||
        (kind === "missing_price" && configured !== undefined && configured.prices.length > 0) ||
        (scope?.startsWith("provider:") && !providers.has(scope.slice("provider:".length)));
      if (isGone(deployment)) this.#sender.resolve(kind, subject, `deployment ${deployment} is no longer configured`);
      else if (mended) this.#sender.resolve(kind, subject);
    }
  }

  /** Once a config, and once a day. Who uses them takes a look into the ledger, which nothing waits for. */
  #lookAtEnds(): void {
    this.#daily?.cancel();
    this.#daily = this.#closed ? null : this.#parts.clock.after(ALERT_BOUNDS.retiringLookMs, () => this.#lookAtEnds());
    const snapshot = this.#snapshot;
    const ending = retiring(snapshot, this.#parts.clock.now());
    const names = new Set(ending.map(({ name }) => name));
    for (const { kind, subject } of this.#sender.alerts())
      if (kind === "model_retiring" && !names.has(subject)) this.#sender.resolve(kind, subject);
    if (ending.length === 0) return;
    void this.#users([...names]).then((users) => {
      if (this.#closed || snapshot !== this.#snapshot) return;
      const now = this.#parts.clock.now();
      for (const deployment of ending)
        this.#sender.raise(retiringAlert(snapshot, deployment, users.get(deployment.name) ?? [], now));
    });
  }

  async #users(names: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    try {
      return (await this.#parts.usersOf?.(names)) ?? new Map();
    } catch (cause) {
      this.#parts.log.warn("who uses models that end cannot be read from the ledger", { cause: String(cause) });
      return new Map();
    }
  }
}

function credentialSubject(provider: string, tenant: string | null): string {
  return tenant === null ? provider : `${provider} of ${tenant}`;
}

/** A pin's subject: another model pinned is another subject. */
function pin(name: string, model: string): string {
  return `${name} as ${model}`;
}
