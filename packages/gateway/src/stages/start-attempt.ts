import type { Call } from "../core/call.ts";
import type { Cancel } from "../core/cancel.ts";
import { accountToken } from "../protocols/account-token.ts";
import type { Dresser, Protocol } from "../protocols/protocol.ts";
import { translateReply, writerFor } from "../protocols/translate.ts";
import { attemptTimeouts, fullHopMs } from "../resilience/timeouts.ts";
import { Attempt } from "./attempt.ts";
import type { AttemptRecord, Grip } from "./attempt-record.ts";
import { giveBack } from "./enter.ts";
import type { Work } from "./execute.ts";
import type { DataPlane } from "./plane.ts";
import { deploymentToken, type Hop, type Tokens } from "./route.ts";

/** What sets one attempt apart from the others of its request. */
export interface Start {
  retry: boolean;
  hedge: boolean;
  grip: Omit<Grip, "hasty" | "slow">;
  /** What is left of the chain's deadline, ms. */
  remainingMs: number;
}

/** Less than this share of the time a deployment should have had: what it does not manage in it says nothing of it. */
const HASTY_SHARE = 0.5;

/**
 * Sends one call to one deployment, and keeps it with the request's others. Attempts see nothing of each other: each translates
 * again from the client's own call. Throws for one that cannot be made, which then holds nothing.
 */
export function startAttempt(plane: DataPlane, work: Work, hop: Hop, start: Start, cancel: Cancel): AttemptRecord {
  try {
    return send(plane, work, hop, start, cancel);
  } catch (error) {
    giveBack(plane, start.grip);
    throw error;
  }
}

function send(
  plane: DataPlane,
  work: Work,
  hop: Hop,
  { retry, hedge, grip, remainingMs }: Start,
  cancel: Cancel,
): AttemptRecord {
  const { visit, call, plan } = work;
  const { deployment, provider, protocol, crossing, pool } = hop;
  const client = visit.protocol;
  const shown = {
    call,
    requestId: visit.requestId,
    createdS: Math.floor(visit.startedAt / 1_000),
    model: deployment.model,
  };
  const writer = crossing && call.stream ? writerFor(client, shown) : null;
  const dresser = dresserFor(client, call, hop, work.lease.row.tenant);
  const timeouts = attemptTimeouts(call, deployment, plan.settings, remainingMs);
  // Last: what it counts as a call on its way is only taken back by an attempt.
  const asked = { call, protocol, deployment, crossing, pool, header: work.header };
  const { request, credential, dropped, over } = provider.request(asked);
  const attempt = new Attempt(
    {
      request,
      over,
      protocol,
      rewrite: crossing
        ? (body) => translateReply(client, protocol, body, provider.quirks, shown)
        : dresser && ((body) => dresser.reply(body)),
      writer,
      dresser,
      quirks: provider.quirks,
      stream: call.stream,
      choices: call.choices,
      showsUsage: call.showsUsage,
      holdTerminator: work.holdTerminator,
      timeouts,
    },
    plane.transport,
    plane.clock,
    cancel,
  );
  // In one literal: an object made by spreading is slow to make, and slow to read for its whole life.
  const hasty = timeouts.hopMs < fullHopMs(call, deployment, plan.settings) * HASTY_SHARE;
  const record: AttemptRecord = {
    hop,
    attempt,
    retry,
    hedge,
    credential,
    dropped,
    writer,
    dresser,
    failure: null,
    grip: { permit: grip.permit, hold: grip.hold, hasty, slow: false },
  };
  work.lease.attempts.push(record);
  return record;
}

/** What dresses an answer that goes on in its own dialect; null: nothing has to. */
function dresserFor(client: Protocol, call: Call, hop: Hop, tenant: string): Dresser | null {
  if (hop.crossing || !client.dress) return null;
  const { deployment } = hop;
  // Each is a hash; the next request of the tenant is likely to come to the same hop.
  if (hop.tokens?.tenant !== tenant) hop.tokens = tokensFor(deployment, tenant);
  return client.dress(call, hop.tokens.deployment, hop.tokens.account);
}

function tokensFor(deployment: Hop["deployment"], tenant: string): Tokens {
  const account = accountToken(deployment.provider);
  return { tenant, deployment: deploymentToken(deployment, tenant), account };
}
