import type { CostState } from "@sluicegate/contract";

/** A duration for people: `840 ms`, `1.24 s`, `12.4 s`, `3m 20s`, `5h 12m`, `3d 4h`. */
export function humanDuration(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 10) / 10} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_995) return `${(ms / 1_000).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes < 60) return `${minutes}m ${seconds % 60}s`;
  return hours < 48 ? `${hours}h ${minutes % 60}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** A count with its thousands apart: `1,234,567`. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Money to the micro-dollar: `$1,234.567890`. Digits line up in a column. */
export function exactUsd(microUsd: number): string {
  const digits = Math.abs(microUsd).toString().padStart(7, "0");
  return `${microUsd < 0 ? "-" : ""}$${grouped(Number(digits.slice(0, -6)))}.${digits.slice(-6)}`;
}

/** Money for people: `$0`, cents from $100, four decimals below, six where four would show nothing. */
export function shortUsd(microUsd: number): string {
  if (microUsd === 0) return "$0";
  const size = Math.abs(microUsd);
  const kept = size >= 100_000_000 ? 2 : size >= 100 ? 4 : 6;
  const step = 10 ** (6 - kept);
  const text = exactUsd(Math.round(microUsd / step) * step);
  return kept === 6 ? text : text.slice(0, kept - 6);
}

/** What one call cost, with how well that is known: `$0.0012`, `~$0.0012` for an estimate, `unknown`. */
export function costText(microUsd: number, state: CostState, money: (microUsd: number) => string): string {
  if (state === "unknown") return "unknown";
  return state === "estimated" ? `~${money(microUsd)}` : money(microUsd);
}
