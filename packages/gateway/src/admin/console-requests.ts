import type { AttemptRow, RequestRecord } from "@sluicegate/contract";
import type { ConsoleView } from "./console-view.ts";
import type { Explanation } from "./explanation.ts";
import { type Html, html } from "./html.ts";
import { costText, grouped, humanDuration, shortUsd } from "./human-numbers.ts";

/** The last requests, each with its attempts folded away under it. */
export function recentRequests({ recent, decisions, nowMs }: ConsoleView): Html {
  if (recent === null) return html``;
  return html`<section><h2>Last requests</h2>
${
  recent.length === 0
    ? empty()
    : html`<table class="requests"><thead><tr><th scope="col">When</th><th scope="col">Request</th><th scope="col">Status</th><th scope="col" class="number">Tokens</th><th scope="col" class="number">Latency</th><th scope="col" class="number">Cost</th></tr></thead>
<tbody>${recent.map((record) => row(record, decisions.get(record.request_id), nowMs))}</tbody></table>`
}</section>`;
}

function empty(): Html {
  return html`<div class="card"><p>Nothing has gone through yet. Ask something:</p>
<pre><code>curl -s $SLUICEGATE_URL/v1/chat/completions \\
  -H "authorization: Bearer $SLUICEGATE_KEY" -H "content-type: application/json" \\
  -d '{"model":"default","messages":[{"role":"user","content":"hello"}]}'</code></pre></div>`;
}

function row(record: RequestRecord, decision: Explanation | undefined, nowMs: number): Html {
  const { started_at, status, usage, latency_ms, cost_micro_usd, cost_state } = record;
  const tokens = usage.input_tokens + usage.output_tokens;
  return html`<tr>
<td data-name="When"><time datetime="${started_at}" title="${started_at}">${whenText(started_at, nowMs)}</time></td>
<td data-name="Request">${request(record, decision)}</td>
<td data-name="Status"><span class="tag ${status}">${status}</span>${record.error_code !== null && html` <small>${record.error_code}</small>`}</td>
<td data-name="Tokens" class="number">${tokens === 0 ? "–" : `${grouped(usage.input_tokens)} → ${grouped(usage.output_tokens)}`}</td>
<td data-name="Latency" class="number">${latency_ms === null ? "–" : humanDuration(latency_ms)}${record.ttft_ms !== null && html`<small>first after ${humanDuration(record.ttft_ms)}</small>`}</td>
<td data-name="Cost" class="number">${status === "running" ? "–" : costText(cost_micro_usd, cost_state, shortUsd)}</td>
</tr>`;
}

function request(record: RequestRecord, decision: Explanation | undefined): Html {
  const { alias, deployment, tenant, attempts, fallback_depth, repeated } = record;
  const facts = [tenant, record.user, record.stream && "stream", repeated > 1 && `stands for ${repeated}`];
  const line = facts.filter((fact) => fact !== null && fact !== false && fact !== "").join(" · ");
  return html`<details><summary>${alias ?? "–"}${deployment !== null && deployment !== alias && html` <span class="muted">→ ${deployment}</span>`}${fallback_depth > 0 && html` <span class="tag fell">fell over</span>`}</summary>
<p class="muted"><code>${record.request_id}</code><br>${line}</p>
${attempts.length === 0 ? html`<p class="muted">No provider was called.</p>` : html`<ol>${attempts.map(attempt)}</ol>`}${decision !== undefined && why(decision)}</details>`;
}

/** Why it went where it went: the plan, and who was left out of it. */
function why({ rule, strategy, chain, candidates, refused }: Explanation): Html {
  if (rule === null) return html`<p class="muted">Refused before it was routed: ${refused?.message ?? ""}.</p>`;
  const out = candidates.filter(({ kept }) => !kept);
  return html`<p class="muted">Routed by ${rule}, ${strategy}: ${chain.length === 0 ? "nobody" : chain.join(" → ")}.</p>
${out.length > 0 && html`<ul class="muted">${out.map(({ deployment, gate, reason }) => html`<li>not ${deployment}: ${gate ?? "gate"}, ${reason}</li>`)}</ul>`}`;
}

function attempt({
  deployment,
  model,
  status,
  error_class,
  http_status,
  latency_ms,
  cost_micro_usd,
  cost_state,
  retry,
}: AttemptRow): Html {
  const how = status === "ok" ? "ok" : [error_class ?? status, http_status].filter((part) => part !== null).join(" ");
  return html`<li><span class="tag ${status}">${how}</span> ${deployment} <span class="muted">${model}, ${humanDuration(latency_ms)}, ${costText(cost_micro_usd, cost_state, shortUsd)}${retry && ", again"}</span></li>`;
}

/** The time of day, with the day where it is not today's. */
function whenText(startedAt: string, nowMs: number): string {
  const today = new Date(nowMs).toISOString().slice(0, 10);
  const time = startedAt.slice(11, 19);
  return startedAt.startsWith(today) ? time : `${startedAt.slice(5, 10)} ${time}`;
}
