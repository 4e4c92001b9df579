import type { Ask } from "./ask.ts";
import type { Draft } from "./plan.ts";
import type { OptionName, Settings } from "./settings.ts";

/** What one model name does. `own`: the options it takes beside the generic ones. */
export interface Behaviour {
  readonly about: string;
  readonly own?: readonly OptionName[];
  /** Settings that hold unless the name says otherwise. */
  readonly defaults?: Settings;
  draft(ask: Ask, settings: Settings): Draft;
}
