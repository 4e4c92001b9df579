import type { ProviderConfig } from "../snapshot.ts";
import { isVendorNamed } from "../vendor-named.ts";

/** A day or month as vendors write it: 2024-11-20, 20241120, -0613, -2508. */
const DATED = /\d{4}-\d{2}-\d{2}|\d{8}|-\d{4}(?!\d)/;
/** OpenAI models whose bare name has never moved, and fine-tunes, which are a snapshot each. */
const NEVER_MOVED = /^(text-embedding-|whisper-|tts-|dall-e-|gpt-oss-|ft:)/;

/**
 * Whether a vendor may put another model behind this name one day (ruling 9): `-latest`, or neither date nor version.
 * OpenAI pins by date only; elsewhere a number in the name counts as a version. What you serve yourself does not move.
 */
export function isFloating(model: string, provider: ProviderConfig): boolean {
  if (!isVendorNamed(provider)) return false;
  const name = model.slice(model.lastIndexOf("/") + 1);
  if (/[-:]latest$/.test(name)) return true;
  if (provider.kind === "openai") return !DATED.test(name) && !NEVER_MOVED.test(name);
  return !/\d/.test(name);
}
