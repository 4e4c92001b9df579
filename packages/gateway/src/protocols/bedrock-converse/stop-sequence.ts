import { type Fields, isObject } from "../field-checks.ts";

/** Where Claude says which stop sequence was hit: asked for by path, since Converse itself does not tell. */
export const STOP_SEQUENCE_PATHS: readonly string[] = ["/stop_sequence", "/delta/stop_sequence"];

/** The stop sequence that an answer, or its last event, says was hit; null where it says nothing. */
export function stopSequenceOf(event: Fields): string | null {
  const fields = event["additionalModelResponseFields"];
  if (!isObject(fields)) return null;
  const from = isObject(fields["delta"]) ? fields["delta"] : fields;
  const { stop_sequence: sequence } = from;
  return typeof sequence === "string" && sequence !== "" ? sequence : null;
}
