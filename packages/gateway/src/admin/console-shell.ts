import { CONSOLE_STYLE } from "./console-style.ts";
import { Html, html } from "./html.ts";

/** A whole document around a body. */
export function consoleShell(title: string, body: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Sluicegate</title>
<link rel="icon" href="data:,">
<style>${new Html(CONSOLE_STYLE)}</style>
</head>
<body>
${body}
</body>
</html>
`;
}
