import type { Ask } from "./ask.ts";
import type { Part, Plan, Usage } from "./plan.ts";
import type { Model } from "./resolve.ts";
import type { Settings } from "./settings.ts";
import { fillerPart, piecesOf } from "./text.ts";

/** How much is thought where a request asks for reasoning and the model name does not say. */
const THOUGHT_TOKENS = 20;

/** Turns what a behaviour drafted into a whole plan: output cap, usage figures, overrides. */
export function composePlan(ask: Ask, model: Model): Plan {
  const { settings } = model;
  const draft = model.behaviour.draft(ask, settings);
  const cap = draft.capped === false ? null : ask.outputTokensMax;
  const fitted = fit(ask.generates ? thoughtful(ask, draft.parts) : [], cap);
  const further = ask.furtherTexts?.map(
    (text) => fit(model.behaviour.draft({ ...ask, text }, settings).parts, cap).parts,
  );
  return {
    parts: fitted.parts,
    further: further ?? [],
    finish: settings.finish ?? (fitted.cut ? "length" : draft.finish),
    stopWord: fitted.cut ? null : (draft.stopWord ?? null),
    blocked: draft.blocked ?? null,
    problem: draft.problem ?? null,
    fault: draft.fault ?? null,
    usage: usageOf([...fitted.parts, ...(further ?? []).flat()], ask, settings),
    reportsUsage: draft.reportsUsage ?? true,
    endMarker: draft.endMarker ?? true,
    gzip: draft.gzip ?? false,
    choices: ask.choices,
    settings,
  };
}

/** The parts with reasoning before them where the request asks for some and the behaviour gave none. */
function thoughtful(ask: Ask, parts: readonly Part[]): readonly Part[] {
  const silent = parts.length > 0 && !parts.some((part) => part.kind === "reasoning");
  return ask.thinks === true && silent ? [fillerPart("reasoning", THOUGHT_TOKENS), ...parts] : parts;
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
    ...(settings.cache_write_1h !== undefined && { cacheWriteHour: settings.cache_write_1h }),
    output: ask.generates ? (settings.output ?? ask.outputTokens ?? visible * ask.choices + reasoning) : 0,
    reasoning,
  };
}

/** Keeps the first `cap` tokens, part by part, in whole pieces; the figures are cut exactly. */
function fit(parts: readonly Part[], cap: number | null): { parts: readonly Part[]; cut: boolean } {
  if (cap === null) return { parts, cut: false };
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
