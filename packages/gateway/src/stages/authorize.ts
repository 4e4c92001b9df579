import type { Snapshot } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import { denialOf } from "../core/permission.ts";
import { nearest } from "../routing/nearest.ts";
import type { Caller } from "./authenticate.ts";
import { checkFields } from "./check-fields.ts";

/** How the name a client asked for is served. */
export interface Target {
  /** A configured alias, or a raw `provider/model` or `deployment:NAME`. */
  name: string;
  raw: boolean;
}

/** What of a call is looked at. */
export type Asking = Pick<Call, "alias" | "platform">;

const WHY: Readonly<Record<string, string>> = {
  no_policy: "nothing is allowed to it",
  denied: "it is on its deny list",
  not_in_allow_list: "it is not on its allow list",
};

/**
 * May this caller use this name, and does the request carry what its tenant requires? Before anything is spent.
 * Throws model_not_found with the nearest aliases this key may use, model_not_allowed with the reason,
 * missing_platform_field, invalid_request for a name that the config does not know, or permission_denied.
 */
export function authorize(snapshot: Snapshot, caller: Caller, call: Asking): Target {
  checkApplication(caller, call);
  checkRequired(caller, call);
  checkFields(snapshot, caller.tenant, call.platform);
  const target = targetOf(snapshot, call.alias);
  const policies = policiesOf(caller);
  if (!target) throw unknownAlias(snapshot, caller, call.alias);
  const reason = denialOf(policies, target.name, target.raw);
  if (reason === null) return target;
  throw new GatewayError(
    "model_not_allowed",
    `key ${caller.key.id} may not use ${quote(call.alias)}: ${WHY[reason]}${hint(allowedAliases(snapshot, caller))}`,
    { param: "model", reason },
  );
}

/** The policies that hold for a caller: its tenant's, and its key's where that has one. */
export function policiesOf(caller: Caller): Caller["tenant"]["models"][] {
  return caller.key.models ? [caller.tenant.models, caller.key.models] : [caller.tenant.models];
}

/** Every configured alias this caller may use, in the order of the config. */
export function allowedAliases(snapshot: Snapshot, caller: Caller): string[] {
  const policies = policiesOf(caller);
  return [...snapshot.routes.keys()].filter((alias) => denialOf(policies, alias, false) === null);
}

function targetOf(snapshot: Snapshot, name: string): Target | null {
  if (snapshot.routes.has(name)) return { name, raw: false };
  if (name.startsWith("deployment:")) {
    return snapshot.deployments.has(name.slice("deployment:".length)) ? { name, raw: true } : null;
  }
  const slash = name.indexOf("/");
  return slash > 0 && slash < name.length - 1 && snapshot.providers.has(name.slice(0, slash))
    ? { name, raw: true }
    : null;
}

function checkApplication(caller: Caller, call: Asking): void {
  const named = call.platform.application;
  if (named === undefined) return;
  const own = caller.key.application;
  if (own !== null && own !== named) {
    throw new GatewayError(
      "invalid_request",
      `application ${quote(named)} is not the one of key ${caller.key.id} (${quote(own)})`,
      {
        param: "gateway.application",
      },
    );
  }
  const known = caller.tenant.applications;
  if (own === null && known.length > 0 && !known.includes(named)) {
    throw new GatewayError("invalid_request", `application ${quote(named)} is not one of this tenant's${hint(known)}`, {
      param: "gateway.application",
    });
  }
}

function checkRequired(caller: Caller, call: Asking): void {
  for (const field of caller.tenant.require) {
    if (call.platform[field as keyof Call["platform"]] !== undefined) continue;
    throw new GatewayError(
      "missing_platform_field",
      `${field} is required by this tenant; send it as gateway.${field} or as the header x-sluicegate-${field.replaceAll("_", "-")}`,
      { param: `gateway.${field}` },
    );
  }
}

function unknownAlias(snapshot: Snapshot, caller: Caller, name: string): GatewayError {
  const allowed = allowedAliases(snapshot, caller);
  const near = nearest(name, allowed, 3);
  const words = near.length > 0 ? `; did you mean ${near.map(quote).join(" or ")}?` : hint(allowed);
  return new GatewayError("model_not_found", `there is no alias ${quote(name)}${words}`, { param: "model" });
}

function hint(names: readonly string[]): string {
  return names.length > 0 ? `; it has ${names.slice(0, 5).map(quote).join(", ")}${names.length > 5 ? ", …" : ""}` : "";
}

function quote(name: string): string {
  return JSON.stringify(name.slice(0, 120));
}
