import { expect, test } from "vitest";
import { DATA, formBoundary, isFile, parseForm } from "./form.ts";

const LINES = [
  "--b",
  'content-disposition: form-data; name="model"',
  "",
  "echo",
  "--b",
  'Content-Disposition: form-data; name="tags[]"',
  "",
  "one",
  "--b",
  'Content-Disposition: form-data; name="file"; filename="a b.bin"',
  "Content-Type: audio/wav",
  "",
  "x\r\n--\r\ny",
  "--b--",
  "",
];

test("texts, lists and files, whatever bytes they hold", () => {
  const form = parseForm(Buffer.from(LINES.join("\r\n")), "b");
  expect(form).toMatchObject({ model: "echo", tags: ["one"] });
  const file = form?.file;
  if (!isFile(file)) throw new Error("no file");
  expect([file.filename, file.content_type, file.bytes]).toEqual(["a b.bin", "audio/wav", 8]);
  expect(file[DATA].toString()).toBe("x\r\n--\r\ny");
  expect(parseForm(Buffer.from("--b--"), "b")).toEqual({});
});

test("a form that stops anywhere before its end is none", () => {
  const whole = Buffer.from(LINES.join("\r\n"));
  const end = whole.lastIndexOf("--b--") + 5;
  for (let at = 0; at < end; at++) expect(parseForm(whole.subarray(0, at), "b")).toBeNull();
});

test("the boundary stands in the content type", () => {
  expect(formBoundary('multipart/form-data; boundary="a b"')).toBe("a b");
  expect(formBoundary("multipart/form-data; charset=utf-8; boundary=xyz")).toBe("xyz");
  expect(formBoundary("application/json")).toBeNull();
  expect(formBoundary(undefined)).toBeNull();
});
