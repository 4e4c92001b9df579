import type { ErrorCode } from "@sluicegate/contract";
import type { Deployment, KeyEntry } from "../config/snapshot.ts";
import type { HealthFacts } from "../core/health.ts";
import type { Candidate, Decision } from "../routing/decision.ts";
import type { RouteFacts } from "../routing/facts.ts";
import type { Gate } from "../routing/gates.ts";
import { type Deciding, decideAgain } from "../stages/decide-again.ts";

/** One deployment that was considered. */
export interface ExplainedCandidate {
  deployment: string;
  kept: boolean;
  gate?: Gate;
  reason: string;
  score?: number;
  fields?: readonly string[];
}

/** A decision as POST /admin/explain shows it. */
export interface Explanation {
  alias: string;
  route: string | null;
  rule: string | null;
  strategy: string | null;
  variant: string | null;
  classification: string | null;
  residency: string | null;
  candidates: ExplainedCandidate[];
  chain: readonly string[];
  /** Rules of mode shadow that would have decided. */
  shadow: readonly { rule: string; chain: readonly string[] }[];
  /** Rules that match, and of whose chains nothing is left. */
  passed: readonly { rule: string; candidates: ExplainedCandidate[] }[];
  complexity: { verdict: string; because: string; to: string } | null;
  /** What the client is told where nothing may serve it. */
  refused: { code: ErrorCode; message: string } | null;
  /** Under which config; `recorded` is that of the request's own day, null for a hypothetical one. */
  config: { revision: string; recorded: string | null };
  facts: RouteFacts;
}

/** What is explained. */
export interface Explained {
  facts: RouteFacts;
  key: KeyEntry | null;
  /** The request was made, and its row says with what. */
  recorded: boolean;
  /** How deployments are; absent: as the facts tell. */
  health?: ((deployment: Deployment) => HealthFacts) | undefined;
}

/** Takes a decision again and says why it is what it is (ROUTE-10). */
export function explanation(runtime: Deciding, { facts, key, recorded, health }: Explained): Explanation {
  const { decision, refused } = decideAgain(runtime, facts, { key, ...(health && { health }) });
  return {
    alias: facts.alias,
    ...named(decision),
    shadow: decision?.shadow ?? [],
    passed: (decision?.passed ?? []).map(({ rule, candidates }) => ({ rule, candidates: candidates.map(shown) })),
    complexity: decision?.complexity ?? null,
    refused,
    config: { revision: runtime.snapshot.revision, recorded: recorded ? facts.revision : null },
    facts,
  };
}

function named(decision: Decision | null) {
  return {
    route: decision?.route ?? null,
    rule: decision?.rule ?? null,
    strategy: decision?.strategy ?? null,
    variant: decision?.variant ?? null,
    classification: decision?.classification ?? null,
    residency: decision?.residency ?? null,
    candidates: (decision?.candidates ?? []).map(shown),
    chain: decision?.chain ?? [],
  };
}

function shown(candidate: Candidate): ExplainedCandidate {
  const { deployment, kept, reason } = candidate;
  if (candidate.kept)
    return { deployment, kept, reason, ...(candidate.score !== undefined && { score: candidate.score }) };
  const { gate, fields } = candidate;
  return { deployment, kept, gate, reason, ...(fields && { fields }) };
}
