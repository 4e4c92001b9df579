import type { SpendReport } from "@sluicegate/contract";
import { recentRequests } from "./console-requests.ts";
import { consoleShell } from "./console-shell.ts";
import type { AliasView, ConsoleView } from "./console-view.ts";
import { type Html, html } from "./html.ts";
import { grouped, humanDuration, shortUsd } from "./human-numbers.ts";

const SPEND_ROWS = 8;

const STATUS_WORDS = {
  ok: "Serving, all well",
  degraded: "Serving with trouble",
  draining: "Shutting down",
} as const;

/** The console: what is running, what it costs, and what went through it last. Works without scripts. */
export function consolePage(view: ConsoleView): Html {
  return consoleShell(
    "Console",
    html`${header(view)}
<main>
${figures(view)}
${troubles(view)}
${aliases(view.aliases)}
${recentRequests(view)}
${view.today && spend(view.today)}
</main>
<footer class="muted">Times are UTC. The same as JSON: <code>/v1/health</code>, <code>/admin/requests</code>, <code>/admin/spend</code>.</footer>`,
  );
}

function header({ health, principal }: ConsoleView): Html {
  const who = principal.tenant === null ? principal.role : `${principal.role} of ${principal.tenant}`;
  return html`<header>
<div>
<h1>Sluicegate <small>${health.version}</small></h1>
<p class="status ${health.status}"><span class="dot"></span>${STATUS_WORDS[health.status]}</p>
</div>
<div class="actions">
<span class="muted">signed in as ${who}</span>
<a class="button" href="/console">Refresh</a>
<form method="post" action="/console/logout"><button type="submit" class="quiet">Sign out</button></form>
</div>
</header>`;
}

function figures({ health, inFlight, today, principal }: ConsoleView): Html {
  const { config } = health;
  const total = today?.total;
  const unknown = total && total.unknown_cost_requests > 0 && `${grouped(total.unknown_cost_requests)} without a price`;
  return html`<section aria-label="At a glance"><dl class="figures">
${figure("Spent today", total ? shortUsd(total.cost_micro_usd) : "–", unknown || null)}
${figure("Requests today", total ? grouped(total.requests) : "–", null)}
${principal.tenant === null && figure("Running now", grouped(inFlight), null)}
${figure("Up for", humanDuration(health.uptime_s * 1_000), health.region)}
${figure("Config", config.revision, `${config.state === "ok" ? "loaded" : "last good one, of"} ${config.loaded_at.slice(0, 16).replace("T", " ")}`)}
</dl></section>`;
}

function figure(name: string, value: string, note: string | null): Html {
  return html`<div><dt>${name}</dt><dd>${value}${note !== null && html`<small>${note}</small>`}</dd></div>`;
}

function troubles({ health, warnings, today, recent }: ConsoleView): Html {
  const { ledger, config } = health;
  const told = [
    config.state === "last_good" && "The config on disk was refused; the last good one is still served.",
    ledger.state !== "ok" && `The ledger is ${ledger.state}: ${grouped(ledger.spooled_rows)} rows wait in the spool.`,
    (today === null || recent === null) && "The ledger's database cannot be read just now.",
  ].filter((words) => words !== false);
  return html`${told.map((words) => html`<p class="notice bad" role="alert">${words}</p>`)}
${
  warnings.length > 0 &&
  html`<details class="notice"><summary>${warnings.length} ${warnings.length === 1 ? "warning" : "warnings"} from the config</summary>
<ul>${warnings.map(({ file, line, path, message }) => html`<li><code>${[file, line].filter((part) => part !== null).join(":") || path}</code> ${message}</li>`)}</ul></details>`
}`;
}

function aliases(all: readonly AliasView[]): Html {
  return html`<section><h2>Aliases</h2>
${all.length === 0 ? html`<p class="muted">No alias is configured; deployments are asked for as <code>provider/model</code>.</p>` : html`<ul class="aliases">${all.map(aliasCard)}</ul>`}
</section>`;
}

function aliasCard({ alias, chain, fallback }: AliasView): Html {
  return html`<li class="card"><h3>${alias}</h3>
${!fallback && chain.length > 1 && html`<p class="muted">no fallback: only the first is tried</p>`}
<ol>${chain.map(
    ({ name, provider, model, region }) =>
      html`<li><strong>${model}</strong> <span class="muted">${provider}${region !== null && ` · ${region}`}${name !== `${provider}/${model}` && ` · ${name}`}</span></li>`,
  )}</ol></li>`;
}

function spend(report: SpendReport): Html {
  const rows = report.data.slice(0, SPEND_ROWS);
  if (rows.length === 0) return html``;
  return html`<section><h2>Spent today, by model</h2>
<table><thead><tr><th scope="col">Model</th><th scope="col">Provider</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Tokens in</th><th scope="col" class="number">Tokens out</th><th scope="col" class="number">Cost</th></tr></thead>
<tbody>${rows.map(
    (row) =>
      html`<tr><td data-name="Model">${row["model"] ?? "none reached"}</td><td data-name="Provider">${row["provider"] ?? "–"}</td><td data-name="Requests" class="number">${grouped(row.requests)}</td><td data-name="Tokens in" class="number">${grouped(row.input_tokens)}</td><td data-name="Tokens out" class="number">${grouped(row.output_tokens)}</td><td data-name="Cost" class="number">${shortUsd(row.cost_micro_usd)}</td></tr>`,
  )}</tbody></table>
${report.data.length > rows.length && html`<p class="muted">and ${report.data.length - rows.length} more: <code>sluicegate spend --by provider,model</code></p>`}
</section>`;
}
