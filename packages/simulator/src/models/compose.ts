import type { Ask } from "./ask.ts";
import type { Part, Plan, Usage } from "./plan.ts";
import type { Model } from "./resolve.ts";
import type { Settings } from "./settings.ts";
import { piecesOf } from "./text.ts";

/** Turns what a behaviour drafted into a whole plan: output cap, usage figures, overrides. */
export function composePlan(ask: Ask, model: Model): Plan {
  const { settings } = model;
  const draft = model.behaviour.draft(ask, settings);
  const parts = ask.generates ? draft.parts : [];
  const cap = draft.capped === false ? null : ask.outputTokensMax;
  const fitted = cap === null ? { parts, cut: false } : fit(parts, cap);
  return {
    parts: fitted.parts,
    finish: settings.finish ?? (fitted.cut ? "length" : draft.finish),
    problem: draft.problem ?? null,
    fault: draft.fault ?? null,
    usage: usageOf(fitted.parts, ask, settings),
    reportsUsage: draft.reportsUsage ?? true,
    endMarker: draft.endMarker ?? true,
    gzip: draft.gzip ?? false,
    choices: ask.choices,
    settings,
  };
}

function usageOf(parts: readonly Part[], ask: Ask, settings: Settings): Usage {
  let visible = 0;
  let thought = 0;
  for (const part of parts) {
    if (part.kind === "reasoning") thought += part.tokens;
    else visible += part.tokens;
  }
  const reasoning = ask.generates ? (settings.reasoning ?? thought * ask.choices) : 0;
  return {
    input: settings.input ?? ask.inputTokens,
    cached: settings.cached ?? 0,
    cacheWrite: settings.cache_write ?? 0,
    output: ask.generates ? (settings.output ?? visible * ask.choices + reasoning) : 0,
    reasoning,
  };
}

/** Keeps the first `cap` tokens, part by part, in whole pieces; the figures are cut exactly. */
function fit(parts: readonly Part[], cap: number): { parts: readonly Part[]; cut: boolean } {
  const kept: Part[] = [];
  let left = cap;
  for (const part of parts) {
    if (part.tokens <= left) {
      kept.push(part);
      left -= part.tokens;
      continue;
    }
    const pieces = piecesOf(part);
    const text = pieces.slice(0, Math.floor((pieces.length * left) / part.tokens)).join("");
    if (left > 0) kept.push({ ...part, text, tokens: left });
    return { parts: kept, cut: true };
  }
  return { parts: kept, cut: false };
}
