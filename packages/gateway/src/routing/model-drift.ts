import { isFloating } from "../config/build/floating-model.ts";
import { bareName } from "../config/catalogue/model-name.ts";
import type { ProviderConfig } from "../config/snapshot.ts";
import { isVendorNamed } from "../config/vendor-named.ts";

/**
 * Whether a model answered that is another one than the name pins (ROUTE-1). A name that may move pins nothing, and one of the
 * two that only says less than the other (an alias and its snapshot, a name without its date) does not contradict it.
 */
export function hasDrifted(pinned: string, answered: string | null, provider: ProviderConfig): boolean {
  if (answered === null || answered === "" || answered === pinned) return false;
  const [asked, told] = [bareName(pinned), bareName(answered)];
  if (saysLess(asked, told) || saysLess(told, asked)) return false;
  return isVendorNamed(provider) && !isFloating(pinned, provider);
}

function saysLess(shorter: string, longer: string): boolean {
  return longer === shorter || longer.startsWith(`${shorter}-`);
}
