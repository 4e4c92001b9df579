import { GatewayError } from "../core/errors.ts";
import { wrongField } from "./field-checks.ts";
import { parametersOf } from "./header-parameters.ts";

/** RFC 2046: a boundary has at most 70 characters. */
const BOUNDARY_CHARS_MAX = 70;
const BOUNDARY = /^[\w'()+,./:=? -]*[\w'()+,./:=?-]$/;
const PARTS_MAX = 128;
const HEADER_BYTES_MAX = 8 * 1024;
const CRLF = "\r\n";
const CR = 13;
const LF = 10;

/** One part of a form. Offsets are bytes of the whole body. */
export interface FormPart {
  name: string;
  /** Null for a plain field. */
  filename: string | null;
  /** Where its own delimiter begins: from here to the `start` of the next part it can be taken out. */
  start: number;
  valueStart: number;
  valueEnd: number;
}

/** A multipart/form-data body, taken apart but not copied. */
export interface Form {
  boundary: string;
  parts: FormPart[];
}

/**
 * The parts of a form. Throws invalid_request for what is no form, or one that two readers could read differently: the
 * upstream must find the very parts that were checked here. So the delimiter may stand nowhere but between parts, nothing
 * may stand around them, and a part says its name once. Reads the body once; parts and their headers are bounded.
 */
export function formOf(raw: Buffer, contentType: string | undefined): Form {
  const boundary = boundaryOf(contentType);
  const delimiter = Buffer.from(`--${boundary}`, "latin1");
  const parts: FormPart[] = [];
  // Some clients begin with the line break that belongs to the first delimiter.
  let at = raw.subarray(0, 2).toString("latin1") === CRLF ? 2 : 0;
  if (raw.indexOf(delimiter, at) !== at) throw bad("it does not begin with the boundary its content-type names");
  for (;;) {
    const headerStart = at + delimiter.length + 2;
    const mark = raw.toString("latin1", headerStart - 2, headerStart);
    if (mark === "--") {
      if (raw.toString("latin1", headerStart).trim() !== "") throw bad("something stands behind its end");
      return { boundary, parts };
    }
    if (mark !== CRLF) throw bad("a boundary is not followed by a line break");
    if (parts.length === PARTS_MAX) throw bad(`it has more than ${PARTS_MAX} parts`);
    const head = headOf(raw, headerStart);
    const next = raw.indexOf(delimiter, head.end);
    if (next === -1) throw bad("it ends too early: the closing boundary is missing");
    if (next < head.end + 2 || raw[next - 2] !== CR || raw[next - 1] !== LF)
      throw bad("the boundary stands within a part");
    const { name, filename } = namesOf(head.text);
    parts.push({ name, filename, start: at, valueStart: head.end, valueEnd: next - 2 });
    at = next;
  }
}

/** The content type of a form with this boundary, in the one way of writing it that everybody reads alike. */
export function contentTypeOf({ boundary }: Form): string {
  return `multipart/form-data; boundary=${/^[\w'+.-]+$/.test(boundary) ? boundary : `"${boundary}"`}`;
}

/** One change to a form: a new value, or null to take the part out. */
export type FormEdit = string | null;

/** The form with every part of a name in `edits` changed, and `additions` put in front. Every other byte stays. */
export function editForm(
  raw: Buffer,
  form: Form,
  edits: ReadonlyMap<string, FormEdit>,
  additions: ReadonlyMap<string, string>,
): Buffer {
  const pieces: Buffer[] = [];
  for (const [name, value] of additions) {
    const head = `--${form.boundary}${CRLF}Content-Disposition: form-data; name="${name}"${CRLF}${CRLF}`;
    pieces.push(Buffer.from(head, "latin1"), Buffer.from(value + CRLF));
  }
  let copied = form.parts[0]?.start ?? 0;
  for (const { name, start, valueStart, valueEnd } of form.parts) {
    const edit = edits.get(name);
    if (edit === undefined) continue;
    pieces.push(raw.subarray(copied, edit === null ? start : valueStart));
    if (edit !== null) pieces.push(Buffer.from(edit));
    // The line break behind a value belongs to the delimiter after it, which stays in either case.
    copied = edit === null ? valueEnd + CRLF.length : valueEnd;
  }
  pieces.push(raw.subarray(copied));
  return Buffer.concat(pieces);
}

function boundaryOf(contentType: string | undefined): string {
  const want = "send multipart/form-data with its boundary";
  if (contentType === undefined)
    throw new GatewayError("invalid_request", `the content-type header is missing; ${want}`);
  const [kind, parameters] = parametersOf(contentType);
  if (kind !== "multipart/form-data") {
    throw new GatewayError("invalid_request", `content-type ${contentType.slice(0, 60)} is not accepted here; ${want}`);
  }
  const named = parameters.filter(([name]) => name === "boundary" || name.startsWith("boundary*"));
  const boundary = named[0]?.[1] ?? "";
  if (named.length !== 1 || boundary === "") {
    throw new GatewayError("invalid_request", `the content-type has no boundary; ${want}`);
  }
  if (boundary.length > BOUNDARY_CHARS_MAX || !BOUNDARY.test(boundary)) {
    throw bad(`its boundary must have 1 to ${BOUNDARY_CHARS_MAX} letters, digits or '()+_,-./:=?`);
  }
  return boundary;
}

/** The header lines of a part, and where its value begins. */
function headOf(raw: Buffer, start: number): { text: string; end: number } {
  const window = raw.subarray(start, start + HEADER_BYTES_MAX);
  const end = window.indexOf("\r\n\r\n");
  if (end === -1) throw bad(`the headers of a part do not end within ${HEADER_BYTES_MAX} bytes`);
  return { text: window.toString("utf8", 0, end), end: start + end + 4 };
}

function namesOf(head: string): { name: string; filename: string | null } {
  const lines = head.split(CRLF);
  const found = lines.filter((line) => line.slice(0, line.indexOf(":")).trim().toLowerCase() === "content-disposition");
  const folded = lines.some((line) => line.startsWith(" ") || line.startsWith("\t") || /[\r\n]/.test(line));
  const [line] = found;
  if (line === undefined || found.length > 1 || folded)
    throw bad("a part must have one content-disposition, on one line");
  const [kind, parameters] = parametersOf(line.slice(line.indexOf(":") + 1));
  const names = parameters.filter(([key]) => key === "name" || key.startsWith("name*"));
  const name = names[0]?.[1] ?? "";
  // An escape in a name is read by one server and kept by the next.
  if (kind !== "form-data" || names.length !== 1 || names[0]?.[0] !== "name" || name === "" || name.includes("\\")) {
    throw bad("every part must be form-data with one plain name");
  }
  const file = parameters.find(([key]) => key === "filename" || key === "filename*");
  return { name, filename: file ? file[1] : null };
}

/** A field's text; throws invalid_request when the form has it twice or as a file. Undefined: it is not there. */
export function formField(raw: Buffer, form: Form, name: string, bytesMax: number): string | undefined {
  const found = form.parts.filter((part) => part.name === name);
  const [part] = found;
  if (!part) return undefined;
  if (found.length > 1) throw wrongField(name, "sent once");
  if (part.filename !== null) throw wrongField(name, "a plain field, not a file");
  if (part.valueEnd - part.valueStart > bytesMax) throw wrongField(name, `at most ${bytesMax} bytes`);
  return raw.toString("utf8", part.valueStart, part.valueEnd);
}

function bad(message: string): GatewayError {
  return new GatewayError("invalid_request", `the multipart form is not usable: ${message}`);
}
