/** Encrypted content with the account that can read it: `sga.` + its token + `.` + the vendor's own. */
const SEALED = /^sga\.([0-9a-f]{8})\.(.+)$/s;

/** `value` marked as `account`'s; one that is marked already, or of the gateway's other wrapper, stays. */
export function markSealed(value: string, account: string): string {
  return value === "" || value.startsWith("sga.") || value.startsWith("sg1.") ? value : `sga.${account}.${value}`;
}

/** Whose it is, null where nothing says, and what its provider made. */
export function readSealed(value: string): { account: string | null; value: string } {
  const [, account, own] = SEALED.exec(value) ?? [];
  return account === undefined || own === undefined ? { account: null, value } : { account, value: own };
}

/** Stands for the seal of a thought whose maker has none. It says nothing, and nobody but the gateway is sent it back. */
export const UNSIGNED = "sg1.none.text.unsigned";
