/** The protocol's name: what its signatures are tagged with. */
export const NAME = "bedrock-converse";

/** A JSON object on its way out. */
export type Wire = Record<string, unknown>;

/**
 * The tool that stands for an answer of a given form, for models that can only be held to a form through a tool. It is forced,
 * and its arguments are the answer's text. Offered only where the client offers no tools, so that the name is nobody else's.
 */
export const ANSWER_TOOL = "json_answer";
