import { hash } from "node:crypto";

/** The console's style sheet: light and dark by the system's choice, one column on a phone. */
export const CONSOLE_STYLE = `
:root {
  color-scheme: light dark;
  --paper: #f6f7f9; --card: #fff; --ink: #16202c; --muted: #5a6877; --line: #dde2e8; --accent: #0b62c4; --on-accent: #fff;
  --good: #14713d; --good-bg: #dff3e6; --bad: #a61b22; --bad-bg: #fbe3e3; --warn: #7a5200; --warn-bg: #fdf0cf; --idle: #47535f; --idle-bg: #e8ecf0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0f151c; --card: #18212b; --ink: #e6ebf0; --muted: #9aa9b8; --line: #2b3743; --accent: #6db0ff; --on-accent: #06213f;
    --good: #7fdca2; --good-bg: #12351f; --bad: #ff9d9d; --bad-bg: #451a1d; --warn: #f2cc70; --warn-bg: #3d2f0b; --idle: #b7c2cd; --idle-bg: #26313c;
  }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 0 1.25rem 2rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header, main, footer { max-width: 72rem; margin-inline: auto; }
header { display: flex; flex-wrap: wrap; gap: .5rem 2rem; justify-content: space-between; align-items: center; padding: 1.25rem 0 1rem; }
h1 { font-size: 1.35rem; margin: 0; }
h2 { font-size: 1.05rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
small, .muted { color: var(--muted); font-weight: 400; }
small { font-size: .82em; }
p { margin: .4rem 0; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .88em; }
pre { overflow-x: auto; margin: .5rem 0 0; }
.status { display: flex; align-items: center; gap: .5rem; margin: .15rem 0 0; }
.dot { width: .65rem; height: .65rem; border-radius: 50%; background: var(--good); }
.degraded .dot, .draining .dot { background: var(--bad); }
.actions { display: flex; flex-wrap: wrap; align-items: center; gap: .6rem; }
button, .button { font: inherit; padding: .4rem .85rem; border: 1px solid var(--accent); border-radius: .4rem; background: var(--accent); color: var(--on-accent); text-decoration: none; cursor: pointer; }
.quiet, .button { background: transparent; color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.card, .figures > div, table { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
.card { padding: .9rem 1.1rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; margin: 0; }
.figures > div { padding: .75rem 1rem; }
dt { color: var(--muted); font-size: .85rem; }
dd { margin: 0; font-size: 1.2rem; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
dd small { display: block; font-size: .8rem; }
.notice { margin: .75rem 0 0; padding: .6rem 1rem; border-radius: .5rem; background: var(--warn-bg); color: var(--warn); }
.notice.bad { background: var(--bad-bg); color: var(--bad); }
.notice ul { margin: .4rem 0; padding-left: 1.2rem; }
.aliases { list-style: none; margin: 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap: .75rem; }
ol { margin: 0; padding-left: 1.3rem; }
ol li { overflow-wrap: anywhere; }
table { width: 100%; border-collapse: separate; border-spacing: 0; overflow: hidden; }
th, td { padding: .5rem .8rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--muted); font-size: .82rem; font-weight: 600; }
tbody tr:last-child td { border-bottom: 0; }
td { overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td small { display: block; }
summary { cursor: pointer; }
details[open] summary { margin-bottom: .3rem; }
.tag { display: inline-block; padding: 0 .5rem; border-radius: .35rem; font-size: .85rem; background: var(--idle-bg); color: var(--idle); }
.tag.ok { background: var(--good-bg); color: var(--good); }
.tag.failed, .tag.abandoned { background: var(--bad-bg); color: var(--bad); }
.tag.refused, .tag.fell { background: var(--warn-bg); color: var(--warn); }
footer { margin-top: 2rem; font-size: .85rem; }
.narrow { max-width: 24rem; padding-top: 12vh; }
.narrow form { display: grid; gap: .6rem; margin: 1rem 0; }
.narrow h1 { margin-bottom: 1rem; }
label { font-weight: 600; }
input { font: inherit; padding: .5rem .6rem; width: 100%; border: 1px solid var(--muted); border-radius: .4rem; background: var(--paper); color: var(--ink); }
@media (max-width: 44rem) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  tbody tr:last-child { border-bottom: 0; }
  td { display: grid; grid-template-columns: 6rem 1fr; gap: .5rem; padding: .15rem .9rem; border: 0; }
  td::before { content: attr(data-name); color: var(--muted); font-size: .85rem; }
  td.number { text-align: left; white-space: normal; }
  td > * { grid-column: 2; justify-self: start; }
}
`;

/** The source expression that lets exactly this style sheet in (Content-Security-Policy). */
export const CONSOLE_STYLE_HASH = `sha256-${hash("sha256", CONSOLE_STYLE, "base64")}`;
