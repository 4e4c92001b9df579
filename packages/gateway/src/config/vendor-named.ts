import { KINDS } from "./kinds.ts";
import { presetNamed } from "./presets.ts";
import type { ProviderConfig } from "./snapshot.ts";

/** Whether a provider's models are named by a vendor. A server of one's own may call anything by any name. */
export function isVendorNamed({ kind, preset }: Pick<ProviderConfig, "kind" | "preset">): boolean {
  return KINDS[kind].vendor || presetNamed(preset ?? "")?.needsKey === true;
}
