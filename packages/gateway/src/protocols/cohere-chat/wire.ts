/** The protocol's name: what its opaque parts are tagged with. */
export const NAME = "cohere-chat";

/** A JSON object on its way out. */
export type Wire = Record<string, unknown>;
