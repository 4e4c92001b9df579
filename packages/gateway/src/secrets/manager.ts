/** A dynamic secret's term: it ends unless it is renewed. */
export interface Lease {
  id: string;
  /** From when it was given or last renewed. */
  durationMs: number;
  renewable: boolean;
}

/** What a manager holds under one name, at the moment it was asked. */
export interface Reading {
  /** Text, or the fields by name. */
  data: string | Readonly<Record<string, unknown>>;
  /** Null for what stays until somebody changes it. */
  lease: Lease | null;
}

/** A reference less its scheme: which document, and which field of it. */
export interface Named {
  path: string;
  field: string | null;
}

/** A client of one secret manager. */
export interface SecretManager {
  /** What a reference names, or why it can name nothing. */
  parse(rest: string): Named | { refused: string };
  /** Asks for a document. Throws SecretFault. */
  read(path: string, signal: AbortSignal): Promise<Reading>;
  /** Prolongs a lease. Throws SecretFault; `denied` and `missing` mean that it has come to its end. */
  renew?(lease: Lease, signal: AbortSignal): Promise<Lease>;
}

/** Why a manager gave nothing: it has no such thing, it says no, it is not there, or what it says makes no sense. */
export type SecretFaultKind = "missing" | "denied" | "unreachable" | "broken";

/** A secret that could not be had. The message names the manager and holds no secret. */
export class SecretFault extends Error {
  readonly kind: SecretFaultKind;

  constructor(kind: SecretFaultKind, message: string) {
    super(message);
    this.name = "SecretFault";
    this.kind = kind;
  }
}
