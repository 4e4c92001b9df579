import type { RequestRecord } from "@sluicegate/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { didYouMean } from "../config/nearest.ts";
import type { Deployment, KeyEntry, Snapshot } from "../config/snapshot.ts";
import { GatewayError } from "../core/errors.ts";
import type { HealthFacts } from "../core/health.ts";
import { isRouteFacts } from "../routing/facts.ts";
import { keysOf } from "../stages/route.ts";
import { authenticate, type Principal, requireOperatorRole, tenantScope } from "./auth.ts";
import { type Explanation, explanation } from "./explanation.ts";
import { type ExplainBody, explainBody, hypotheticalFacts, ofKey } from "./hypothetical.ts";
import type { ControlParts } from "./parts.ts";
import { readBody, readQuery } from "./query.ts";

/** POST /admin/explain: why a request goes, or went, where it goes. */
export function explainRoutes(app: FastifyInstance, parts: ControlParts): void {
  app.post("/admin/explain", async (request) => {
    const principal = authenticate(parts.adminKeys(), request.headers.authorization);
    requireOperatorRole(principal);
    readQuery(z.strictObject({}), request.query);
    const asked = readBody(explainBody, request.body);
    return asked.request_id === undefined
      ? hypothetical(parts, principal, asked)
      : recorded(parts, principal, asked, asked.request_id);
  });
}

async function recorded(
  parts: ControlParts,
  principal: Principal,
  asked: ExplainBody,
  requestId: string,
): Promise<Explanation> {
  const stray = Object.keys(asked).find((name) => name !== "request_id");
  if (stray !== undefined) {
    throw new GatewayError("invalid_request", `${stray} has no meaning beside request_id`, { param: stray });
  }
  const record = await parts.reader.request(requestId);
  // Another tenant's request is answered as one that does not exist.
  if (!record || (principal.tenant !== null && record.tenant !== principal.tenant)) {
    throw new GatewayError(
      "not_found",
      "there is no such request; one that has just ended takes a moment to be listed",
    );
  }
  const found = explanationOf(parts, record);
  if (found) return found;
  throw new GatewayError("not_found", "this request was never routed: its row has no facts");
}

/** Why a request went where it went, by its own facts and under the config as it is now; null: it was never routed. */
export function explanationOf({ routing }: ControlParts, record: RequestRecord): Explanation | null {
  const { facts, key_id } = record;
  if (!isRouteFacts(facts)) return null;
  const key = key_id === null ? null : routing.key(key_id);
  return explanation(routing.runtime(), { facts, key, recorded: true });
}

function hypothetical(parts: ControlParts, principal: Principal, asked: ExplainBody): Explanation {
  const { routing, clock } = parts;
  const runtime = routing.runtime();
  const key = asked.key_id === undefined ? null : keyNamed(parts, asked.key_id);
  const tenant = tenantScope(principal, key?.tenant ?? asked.tenant ?? onlyTenant(runtime.snapshot));
  if (tenant === undefined) {
    throw new GatewayError("invalid_request", "tenant is missing; send tenant or key_id", { param: "tenant" });
  }
  const facts = hypotheticalFacts(runtime.snapshot, { ...ofKey(key), ...asked }, tenant, clock.now());
  const health = (deployment: Deployment): HealthFacts => routing.health(keysOf(runtime, tenant, deployment).health);
  return explanation(runtime, { facts, key, recorded: false, health });
}

/** Where there is one tenant, it is meant. */
function onlyTenant({ tenants }: Snapshot): string | undefined {
  return tenants.size === 1 ? [...tenants.keys()][0] : undefined;
}

function keyNamed({ routing, snapshot }: ControlParts, id: string): KeyEntry {
  const key = routing.key(id);
  if (key) return key;
  const ids = snapshot().keys.map((entry) => entry.id);
  throw new GatewayError("invalid_request", `key_id: there is no key ${JSON.stringify(id)}${didYouMean(id, ids)}`, {
    param: "key_id",
  });
}
