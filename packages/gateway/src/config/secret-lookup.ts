/** What a reference to a secret manager came to. `document`: what of the manager's it stands in, as `retain` takes it. */
export type SecretValue =
  | { value: string; document: string }
  | { missing: string; document: string }
  | { refused: string };

/** The secret managers, as the loader asks them. */
export interface SecretLookup {
  /** The value of `scheme:rest`. Never rejects; waits no longer than a manager may take. */
  lookUp(scheme: string, rest: string): Promise<SecretValue>;
  /** What the config that is now served refers to. */
  retain(documents: ReadonlySet<string>): void;
}
