import { consoleShell } from "./console-shell.ts";
import { type Html, html } from "./html.ts";
import type { ControlParts } from "./parts.ts";

/** What somebody without a session sees: how to get in, and nothing else. `problem` says why the last try failed. */
export function signInPage(parts: ControlParts, problem: string | null): Html {
  return consoleShell(
    "Sign in",
    html`<main class="narrow">
<h1>Sluicegate</h1>
${problem !== null && html`<p class="notice bad" role="alert">${problem}</p>`}
${parts.adminKeys().length > 0 ? form() : noKey()}
</main>`,
  );
}

function form(): Html {
  return html`<form method="post" action="/console/login" class="card">
<label for="key">Admin key</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus spellcheck="false">
<button type="submit">Sign in</button>
</form>
<p class="muted">The gateway also prints a link that signs you in, once, each time it starts.</p>`;
}

function noKey(): Html {
  return html`<div class="card">
<p>This gateway has no admin key. Open the link that it printed when it started: it signs you in, once.</p>
<p>For a way in that lasts, set <code>SLUICEGATE_ADMIN_KEY</code> and start the gateway again.</p>
</div>`;
}
