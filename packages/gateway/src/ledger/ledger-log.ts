/** Where the ledger tells what happens to it: a level, a sentence without values, and the values. */
export type LedgerLog = (level: "info" | "warn" | "error", message: string, fields: Record<string, unknown>) => void;
