/** What vectors are for, in Cohere's words, by Gemini's. */
const INPUT_TYPES: ReadonlyMap<string, string> = new Map([
  ["RETRIEVAL_QUERY", "search_query"],
  ["QUESTION_ANSWERING", "search_query"],
  ["FACT_VERIFICATION", "search_query"],
  ["CODE_RETRIEVAL_QUERY", "search_query"],
  ["RETRIEVAL_DOCUMENT", "search_document"],
  ["CLASSIFICATION", "classification"],
  ["CLUSTERING", "clustering"],
]);

/** Texts Cohere takes in one call. */
export const COHERE_TEXTS_MAX = 96;

/** Cohere's models must be told what their vectors are for: documents, where nobody says, or says what they do not know. */
export function cohereInputType(task: string | null): string {
  return INPUT_TYPES.get(task ?? "") ?? "search_document";
}

/** Has Cohere a word for it? */
export function isCohereTask(task: string): boolean {
  return INPUT_TYPES.has(task);
}
