import type { RequestRow, Usage } from "@sluicegate/contract";
import { msText, numberText, quotedText } from "../core/json-text.ts";
import { jsonText } from "../core/kept-json.ts";
import { Remembered } from "../core/remembered.ts";

/**
 * A writer of access lines: `{"msg":"request",` and the row's members as `JSON.stringify` puts them, and a newline. Most of
 * a row is the same for all requests of a key, an alias or a deployment: such runs of members are kept as text.
 */
export function accessLineWriter(): (row: RequestRow) => string {
  const callers = new Remembered<Caller>();
  const routes = new Remembered<Routed>();
  const ends = new Remembered<Ended>();
  return (row) => {
    const caller = callerOf(callers, row);
    const ended = endedOf(ends, row);
    return (
      `{"msg":"request","request_id":${quotedText(row.request_id)}${originText(row)}${quotedText(row.started_at)}` +
      `${caller.text}${userText(row)}${caller.keyText}${routedOf(routes, row).text}${ended.text}` +
      `${usageText(row.usage)},"cost_micro_usd":${numberText(row.cost_micro_usd)}${ended.costText}` +
      `"latency_ms":${timeText(row.latency_ms)},"ttft_ms":${timeText(row.ttft_ms)},"overhead_ms":${timeText(row.overhead_ms)}` +
      `${ended.depthText}"trace_id":${textOrNull(row.trace_id)},"tags":${tagsText(row.tags)}` +
      `,"facts":${row.facts === null ? "null" : jsonText(row.facts)},"repeated":${numberText(row.repeated)}}\n`
    );
  };
}

/** Members whose values rarely change, and their text: used again where every value is the same, and the key. */
type Caller = Pick<RequestRow, "key_id" | "tenant" | "team" | "application" | "agent"> & {
  text: string;
  keyText: string;
};
type Routed = Pick<RequestRow, "alias" | "route" | "rule" | "variant" | "dialect" | "stream"> & { text: string };
type Ended = Pick<RequestRow, "status" | "error_code" | "finish_reason"> &
  Pick<RequestRow, "deployment" | "provider" | "model" | "response_model" | "region"> &
  Pick<RequestRow, "template_version" | "task_class" | "classification"> &
  Pick<RequestRow, "cost_state" | "saved_micro_usd" | "cache" | "fallback_depth" | "hedged"> & {
    text: string;
    costText: string;
    depthText: string;
  };

function callerOf(callers: Remembered<Caller>, row: RequestRow): Caller {
  const { tenant, team, application, agent, key_id } = row;
  for (const run of callers.under(key_id))
    if (run.tenant === tenant && run.team === team && run.application === application && run.agent === agent)
      return run;
  const text = members({ tenant, team, application, agent });
  const keyText = members({ key_id });
  const run = { key_id, tenant, team, application, agent, text: `,${text}`, keyText };
  return callers.wants(run, key_id) ? callers.add(detached(run, text + keyText).key_id, run) : run;
}

function routedOf(routes: Remembered<Routed>, row: RequestRow): Routed {
  const { alias, route, rule, variant, dialect, stream } = row;
  for (const run of routes.under(alias))
    if (
      run.route === route &&
      run.rule === rule &&
      run.variant === variant &&
      run.dialect === dialect &&
      run.stream === stream
    )
      return run;
  const text = members({ alias, route, rule, variant, dialect, stream });
  const run = { alias, route, rule, variant, dialect, stream, text };
  return routes.wants(run, alias) ? routes.add(detached(run, text).alias, run) : run;
}

function endedOf(ends: Remembered<Ended>, row: RequestRow): Ended {
  for (const run of ends.under(row.deployment)) if (endsAs(run, row)) return run;
  const { status, error_code, finish_reason, deployment, provider, model, response_model, region } = row;
  const { template_version, task_class, classification, cost_state, saved_micro_usd, cache } = row;
  const { fallback_depth, hedged } = row;
  const served =
    members({ status, error_code, finish_reason, deployment, provider, model, response_model, region }) +
    members({ template_version, task_class, classification });
  const cost = members({ cost_state, saved_micro_usd, cache });
  const depth = members({ fallback_depth, hedged });
  const run: Ended = {
    status,
    error_code,
    finish_reason,
    deployment,
    provider,
    model,
    response_model,
    region,
    template_version,
    task_class,
    classification,
    cost_state,
    saved_micro_usd,
    cache,
    fallback_depth,
    hedged,
    text: `${served}"usage":`,
    costText: `,${cost}`,
    depthText: `,${depth}`,
  };
  return ends.wants(run, deployment) ? ends.add(detached(run, served + cost + depth).deployment, run) : run;
}

function endsAs(run: Ended, row: RequestRow): boolean {
  return (
    run.status === row.status &&
    run.error_code === row.error_code &&
    run.finish_reason === row.finish_reason &&
    run.provider === row.provider &&
    run.model === row.model &&
    run.response_model === row.response_model &&
    run.region === row.region &&
    run.template_version === row.template_version &&
    run.task_class === row.task_class &&
    run.classification === row.classification &&
    run.cost_state === row.cost_state &&
    run.saved_micro_usd === row.saved_micro_usd &&
    run.cache === row.cache &&
    run.fallback_depth === row.fallback_depth &&
    run.hedged === row.hedged
  );
}

/** Members as they stand within an object, each with a comma behind it. */
function members(values: Record<string, unknown>): string {
  return `${JSON.stringify(values).slice(1, -1)},`;
}

/** Values replaced by what their text says: a string of a row may hold on to the whole body that it was cut from. */
function detached<T extends object>(values: T, text: string): T {
  return Object.assign(values, JSON.parse(`{${text.slice(0, -1)}}`));
}

const OWN_ORIGIN = `,"client_request_id":null,"parent_request_id":null,"purpose":"client","started_at":`;

function originText({ client_request_id, parent_request_id, purpose }: RequestRow): string {
  if (client_request_id === null && parent_request_id === null && purpose === "client") return OWN_ORIGIN;
  return `,${members({ client_request_id, parent_request_id, purpose })}"started_at":`;
}

function userText({ user, session }: RequestRow): string {
  if (user === null && session === null) return `"user":null,"session":null,`;
  return `"user":${textOrNull(user)},"session":${textOrNull(session)},`;
}

function usageText(usage: Usage): string {
  const { input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens } = usage;
  const { output_tokens, reasoning_tokens } = usage;
  const cache =
    cached_input_tokens === 0 && cache_write_tokens === 0 && cache_write_1h_tokens === 0
      ? `"cached_input_tokens":0,"cache_write_tokens":0,"cache_write_1h_tokens":0,`
      : members({ cached_input_tokens, cache_write_tokens, cache_write_1h_tokens });
  return (
    `{"input_tokens":${numberText(input_tokens)},${cache}"output_tokens":${numberText(output_tokens)}` +
    `,"reasoning_tokens":${numberText(reasoning_tokens)}}`
  );
}

function tagsText(tags: Record<string, string>): string {
  for (const _ in tags) return JSON.stringify(tags);
  return "{}";
}

function textOrNull(text: string | null): string {
  return text === null ? "null" : quotedText(text);
}

function timeText(ms: number | null): string {
  return ms === null ? "null" : msText(ms);
}
