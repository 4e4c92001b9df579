const PARTS_MAX = 1000;
/** Under which a file keeps its bytes, so that they stay out of JSON. */
export const DATA: unique symbol = Symbol("data");

/** A file of a form. */
export interface FormFile {
  readonly filename: string;
  readonly content_type: string;
  readonly bytes: number;
  readonly [DATA]: Buffer;
}

/** Whether a field of a form is a file. */
export function isFile(value: unknown): value is FormFile {
  return typeof value === "object" && value !== null && DATA in value;
}

/** The boundary of a multipart/form-data body; null for other content types. */
export function formBoundary(contentType: string | undefined): string | null {
  if (contentType === undefined || !/^multipart/i.test(contentType)) return null;
  const match = /^multipart\/form-data\b.*?;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  return match?.[1] ?? match?.[2] ?? null;
}

/** The fields of a form by name: texts and files, lists where a name repeats or ends in `[]`; null when it is malformed. */
export function parseForm(body: Buffer, boundary: string): Record<string, unknown> | null {
  const fields: Record<string, unknown> = Object.create(null);
  const mark = Buffer.from(`--${boundary}`);
  let at = body.indexOf(mark);
  for (let parts = 0; at >= 0 && parts < PARTS_MAX; parts++) {
    const from = at + mark.length;
    if (body.toString("latin1", from, from + 2) === "--") return { ...fields };
    const next = body.indexOf(Buffer.concat([Buffer.from("\r\n"), mark]), from);
    const blank = body.indexOf("\r\n\r\n", from);
    if (next < 0 || blank < 0 || blank > next) return null;
    const head = headOf(body.toString("utf8", from, blank));
    if (head === null) return null;
    keep(fields, head.name, fieldOf(head, body.subarray(blank + 4, next)));
    at = next + 2;
  }
  return null;
}

interface Head {
  readonly name: string;
  readonly filename: string | null;
  readonly contentType: string;
}

function headOf(text: string): Head | null {
  const disposition = /^content-disposition:\s*form-data\b(.*)$/im.exec(text)?.[1] ?? "";
  const name = /;\s*name="([^"]*)"/i.exec(disposition)?.[1];
  if (name === undefined) return null;
  const contentType = /^content-type:\s*(.*?)\s*$/im.exec(text)?.[1] ?? "application/octet-stream";
  return { name, filename: /;\s*filename="([^"]*)"/i.exec(disposition)?.[1] ?? null, contentType };
}

function fieldOf({ filename, contentType }: Head, data: Buffer): string | FormFile {
  if (filename === null) return data.toString("utf8");
  return { filename, content_type: contentType, bytes: data.length, [DATA]: data };
}

function keep(fields: Record<string, unknown>, name: string, value: unknown): void {
  const listed = name.endsWith("[]");
  const key = listed ? name.slice(0, -2) : name;
  const known = fields[key];
  if (known === undefined) fields[key] = listed ? [value] : value;
  else fields[key] = Array.isArray(known) ? [...known, value] : [known, value];
}
