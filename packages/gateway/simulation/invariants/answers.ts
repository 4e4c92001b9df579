import type { RequestRow } from "@sluicegate/contract";
import { CODES } from "../../src/core/errors.ts";
import { type ReadAnswer, readAnswer } from "../client/read-answer.ts";
import type { Remains } from "../world/run.ts";
import { type Case, nameOf } from "./cases.ts";

const FINISHES: Readonly<Record<string, string>> = {
  ...{ end_turn: "stop", max_tokens: "length", refusal: "content_filter" },
  ...{ stop: "stop", length: "length", content_filter: "content_filter" },
};
/** The most that may wait in a connection of a client that does not read, bytes. */
const WAITING_BYTES_MAX = 256 * 1_024;

/** Everybody is answered once, in their own dialect, with what the books say. */
export function checkAnswers(one: Case, { findings }: Remains): void {
  const { spec, visit, booked } = one;
  const wrong = (rule: string, what: string): void =>
    findings.add(rule, `${nameOf(one)}, ${visit.end} ${visit.status}: ${what}`);
  for (const fault of visit.faults) wrong("answered once", fault);
  if (visit.waitingBytesMax > WAITING_BYTES_MAX) wrong("memory is bounded", `${visit.waitingBytesMax} bytes waiting`);
  if (visit.end === "closed") wrong("answered in the dialect", "the connection was closed");
  const isStream = visit.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const open = visit.end !== "answered";
  const read = readAnswer(spec.dialect, visit.bytes, isStream, open);
  if (visit.end === "lost") return;
  if (!(open && !isStream)) for (const fault of read.faults) wrong("answered in the dialect", fault);
  if (visit.end === "left") return checkLeft(one, read, wrong);
  if (visit.headers.get("x-request-id") !== (booked?.row.request_id ?? visit.headers.get("x-request-id")))
    wrong("answered with its id", String(visit.headers.get("x-request-id")));
  if (!booked) {
    if (visit.status === 200) wrong("ledger: every admitted request", "an answer without a row");
    return;
  }
  const { row } = booked;
  // Answered in the tick in which its replica died.
  if (row.status === "abandoned") return;
  if (row.status === "ok") return checkGood(one, read, isStream, wrong);
  if (row.status === "cancelled") wrong("the answer is what the books say", "cancelled, and the client is there");
  if (read.error === null) return wrong("the answer is what the books say", "no error in it");
  checkError(one, row, read, isStream, wrong);
}

function checkGood(one: Case, read: ReadAnswer, isStream: boolean, wrong: (rule: string, what: string) => void): void {
  const { spec, visit, attempts, booked } = one;
  const served = attempts.find(({ row }) => row.status === "ok");
  if (served?.row.deployment !== booked?.row.deployment)
    wrong("the answer is what the books say", "another deployment served");
  const last = served?.call;
  if (visit.status !== 200 || read.error) wrong("the answer is what the books say", `an error ${read.error?.code}`);
  if (isStream !== spec.stream) wrong("answered in the mode asked", isStream ? "a stream" : "whole");
  if (!read.complete) wrong("answered in the dialect", "its end is missing");
  if (!last) return wrong("the answer is what the books say", "nobody was asked");
  if (read.text !== last.text)
    wrong("the answer is the provider's", `${JSON.stringify(read.text)} for ${JSON.stringify(last.text)}`);
  if (FINISHES[read.finish ?? ""] !== last.finish)
    wrong("the answer is the provider's", `finish ${read.finish} for ${last.finish}`);
  if (isStream && spec.dialect === "openai-chat" && !spec.showsUsage && read.usage)
    wrong("usage is shown to those that ask", "it was shown");
  const reported = last.reported;
  if (
    read.usage &&
    reported &&
    (read.usage.output !== reported.output_tokens || read.usage.input !== reported.input_tokens)
  )
    wrong("the answer is the provider's", `usage ${JSON.stringify(read.usage)}`);
}

function checkError(
  one: Case,
  row: RequestRow,
  read: ReadAnswer,
  isStream: boolean,
  wrong: (rule: string, what: string) => void,
): void {
  const { visit, spec } = one;
  const code = row.error_code;
  if (code === null || !read.error) return wrong("the answer is what the books say", "no code");
  if (isStream) {
    if (!spec.stream) wrong("answered in the mode asked", "a stream");
    if (read.finish !== null) wrong("no fake stop", `finish ${read.finish} before an error`);
  } else {
    const wanted = CODES[code].status;
    const dialects = spec.dialect === "anthropic-messages" && wanted === 503 ? 529 : wanted;
    if (visit.status !== dialects) wrong("the answer is what the books say", `${visit.status} for ${code}`);
  }
  // A provider's own refusal goes on word for word: its code is its own.
  const verbatim = wordForWord(code);
  if (!verbatim && read.error.code !== code)
    wrong("the answer is what the books say", `${read.error.code} for ${code}`);
  if (!verbatim && read.requestId !== row.request_id) wrong("answered with its id", `${read.requestId} in the error`);
}

function wordForWord(code: string): boolean {
  return ["content_filter", "context_length_exceeded", "invalid_request", "request_too_large"].includes(code);
}

/** It left: what it had by then is a beginning of the answer, and the books know that it left or that it was served. */
function checkLeft(one: Case, read: ReadAnswer, wrong: (rule: string, what: string) => void): void {
  const { booked, attempts } = one;
  if (!read.error && read.text !== "" && !attempts.some(({ call }) => call?.text.startsWith(read.text)))
    if (booked?.row.status !== "abandoned") wrong("the answer is the provider's", "another text");
  if (!booked) return;
  const { status } = booked.row;
  if (
    status !== "cancelled" &&
    status !== "abandoned" &&
    !(one.visit.status !== null && (status === "ok" || status === "failed"))
  )
    wrong("the books know who left", status);
}
