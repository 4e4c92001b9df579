import type { ComplexityConfig, Deployment, ModelPolicy, Route, Snapshot, Strategy } from "../config/snapshot.ts";
import type { HealthFacts } from "../core/health.ts";
import type { Complexity } from "./complexity.ts";
import type { RouteFacts } from "./facts.ts";
import type { Gate, Overflow, Placement } from "./gates.ts";

/** What a route says besides its name and its chain. */
export type RouteSettings = Omit<Route, "alias" | "chain">;

/** Whether a deployment can be told a call: what only the protocols know. */
export type Reach =
  | { ok: false; gate: Gate; reason: string }
  | {
      ok: true;
      /** The API it is called by. */
      api: string;
      /** Fields of meaning that get lost on the way, in the client's words. */
      lost: readonly string[];
      /** The client's words for canonical fields. */
      fieldNames: Readonly<Record<string, string>>;
    };

/** All the routing function looks at. It asks the functions for the deployments it considers, and for no others. */
export interface DecideInput {
  facts: RouteFacts;
  /** Those that hold for the caller: its tenant's, and its key's where that has one. */
  policies: readonly (ModelPolicy | null)[];
  snapshot: Snapshot;
  /** A deployment by its name, also one that no config lists. */
  deployment(name: string): Deployment | undefined;
  reach(deployment: Deployment): Reach;
  /**
   * Asked only where there is something to order. `scored`: the numbers count too; otherwise only what is wrong does.
   * `windowMs`: the time over which the route that serves counts failures.
   */
  health(deployment: Deployment, scored: boolean, windowMs: number): HealthFacts;
}

/** A deployment that a request may go to. */
export interface Kept {
  deployment: string;
  kept: true;
  /** Why it stands where it stands. */
  reason: string;
  /** What the strategy went by; absent for those that look at nothing. */
  score?: number;
}

/** A deployment that was considered and left out, and which gate said so. */
export interface Removed {
  deployment: string;
  kept: false;
  gate: Gate;
  reason: string;
  /** What it lacks or cannot express, in the client's words. */
  fields?: readonly string[];
  /** By how much the call is too long for it. */
  overflow?: Overflow;
}

/** A deployment that was considered. */
export type Candidate = Kept | Removed;

/** Where a request goes, and why (ROUTE-10). */
export interface Decision extends Placement {
  /** What was asked for. */
  alias: string;
  /** The alias that serves, or the raw name. */
  route: string;
  /** What decided: `chain`, `override`, `canary`, `raw`, or the name of a rule. */
  rule: string;
  strategy: Strategy;
  /** Of the route's experiment; null: it has none. */
  variant: string | null;
  /** Those that stay, in the order they are tried; then those left out. */
  candidates: readonly Candidate[];
  chain: readonly string[];
  settings: RouteSettings;
  /** This replica may not have the data: nothing was looked at. */
  refused?: { gate: Gate; reason: string };
  /** Rules of mode shadow that would have decided. */
  shadow?: readonly { rule: string; chain: readonly string[] }[];
  /** Rules that match, and of whose chains the gates left nothing. */
  passed?: readonly { rule: string; candidates: readonly Removed[] }[];
  /** What complexity routing saw, and where it led. */
  complexity?: Complexity & { to: string };
  /** The classifier that should be asked, because its word would decide. */
  ask?: NonNullable<ComplexityConfig["classifier"]>;
}
