/** The protocol's name: what its signatures are tagged with. */
export const NAME = "ai-sdk";

/** A JSON object on its way out. */
export type Wire = Record<string, unknown>;
