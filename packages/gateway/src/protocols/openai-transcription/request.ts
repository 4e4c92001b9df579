import type { Call } from "../../core/call.ts";
import { GatewayError } from "../../core/errors.ts";
import { checkModel, type Fields, isAbsent, missingField, wrongField } from "../field-checks.ts";
import { contentTypeOf, editForm, type Form, type FormEdit, formField, formOf } from "../multipart.ts";
import { plainCall, roughTokens } from "../plain-call.ts";
import { platformFields } from "../platform-fields.ts";
import type { ClientRequest, Target } from "../protocol.ts";

/** OpenAI's bound for one recording: 25 MB. */
const FILE_BYTES_MAX = 25 * 1024 * 1024;
/** A field that is looked at is short; the others (a prompt, reference voices) are the provider's to bound. */
const FIELD_BYTES_MAX = 64 * 1024;
const GATEWAY = "gateway";

/** What a transcription's `Call.body` holds. */
interface FormBody extends Fields {
  form: Form;
}

/**
 * Decodes a form with `file`, `model` and whatever else the provider knows. The platform's fields come in headers, or as JSON
 * in a field `gateway`. Throws request_too_large for a file over 25 MB.
 */
export function decodeRequest(request: ClientRequest): Call {
  const { raw, header, path } = request;
  const form = formOf(raw, header("content-type"));
  const text = (name: string): string | undefined => formField(raw, form, name, FIELD_BYTES_MAX);
  const platform = platformFields({ gateway: gatewayField(text(GATEWAY)) }, request);
  const model = text("model");
  const alias = path.alias ?? checkModel({ model });
  // It is written into forms, where a line break would end it.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are meant
  if (/[\x00-\x1f]/.test(alias)) throw wrongField("model", "without control characters");
  checkFile(form);
  const stream = flagOf("stream", text("stream"));
  return plainCall(request, {
    dialect: "openai-transcription",
    operation: "transcription",
    ...{ alias, platform, stream },
    needs: new Set(["transcription"]),
    // An hour of speech takes its time before a word of it is there.
    reasons: true,
    // Sound is billed by its own measure, which its bytes do not tell.
    inputTokensEstimate: roughTokens(text("prompt")?.length ?? 0),
    dialectHeaders: { "content-type": contentTypeOf(form) },
    body: { form } satisfies FormBody,
  });
}

/** The client's form with the deployment's model in the alias's place, and without what is the platform's. */
export function passRequest(call: Call, { model }: Target): Buffer {
  const { form } = call.body as FormBody;
  const named = form.parts.some(({ name }) => name === "model");
  const edits = new Map<string, FormEdit>([[GATEWAY, null]]);
  if (named) edits.set("model", model);
  return editForm(call.raw, form, edits, new Map(named ? [] : [["model", model]]));
}

function checkFile(form: Form): void {
  const files = form.parts.filter(({ name }) => name === "file");
  const [file] = files;
  if (!file) throw missingField("file", "the recording, as a file of the form");
  if (files.length > 1) throw wrongField("file", "sent once");
  if (file.filename === null) throw wrongField("file", "a file of the form, with a filename");
  const bytes = file.valueEnd - file.valueStart;
  if (bytes === 0) throw wrongField("file", "not empty");
  if (bytes > FILE_BYTES_MAX) {
    const message = `file has ${bytes} bytes, the limit is ${FILE_BYTES_MAX} (25 MB); send a shorter or a compressed recording`;
    throw new GatewayError("request_too_large", message, { param: "file", limit: FILE_BYTES_MAX, used: bytes });
  }
}

function gatewayField(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw wrongField(GATEWAY, "JSON");
  }
}

/** A form's boolean, in the spellings of the servers this is for. */
function flagOf(name: string, value: string | undefined): boolean {
  if (isAbsent(value) || value === "") return false;
  const word = value.trim().toLowerCase();
  if (word === "true" || word === "1") return true;
  if (word === "false" || word === "0") return false;
  throw wrongField(name, "true or false");
}
