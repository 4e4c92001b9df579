import { type Count, type InputPart, readPart } from "./parts.ts";
import { listAt, membersOf, stringAt, wrong } from "./refusals.ts";

/** One turn. */
export interface Content {
  readonly role: "user" | "model";
  readonly parts: readonly InputPart[];
}

/** Validates the contents and reads them. `signed`: calls of the turn that goes on must hold their signatures. */
export function readContents(value: unknown, count: Count, signed: boolean): Content[] {
  const list = listAt(value, "contents");
  if (list.length === 0) wrong("* GenerateContentRequest.contents: contents is not specified\n");
  const contents = joined(list.map((item, i) => readContent(item, `contents[${i}]`, count)));
  contents.forEach((content, i) => {
    checkTurn(content, contents[i - 1], contents[i + 1]);
  });
  if (signed) checkSignatures(contents);
  return contents;
}

/**
 * Turns of the model that follow each other are one: the vendor's SDK keeps a streamed answer in its pieces. So are results of
 * tools: others give each a turn of its own.
 */
function joined(contents: readonly Content[]): Content[] {
  const turns: Content[] = [];
  for (const content of contents) {
    const last = turns.at(-1);
    const one = last?.role === content.role && (content.role === "model" || (returns(last) && returns(content)));
    if (last === undefined || !one) turns.push(content);
    else turns[turns.length - 1] = { role: content.role, parts: [...last.parts, ...content.parts] };
  }
  return turns;
}

function returns({ parts }: Content): boolean {
  return parts.some((part) => part.kind === "tool_result");
}

/** The texts of a `systemInstruction`. */
export function readSystem(value: unknown, count: Count): string[] {
  if (value === undefined) return [];
  const content = membersOf(value, ["role", "parts"], "system_instruction");
  return listAt(content.parts, "system_instruction.parts").map((item, i) => {
    const part = readPart(item, `system_instruction.parts[${i}]`, count);
    return part.kind === "text" ? part.text : wrong("system_instruction only supports text content.");
  });
}

function readContent(item: unknown, at: string, count: Count): Content {
  const content = membersOf(item, ["role", "parts"], at);
  const role = stringAt(content.role, `${at}.role`) ?? "user";
  if (role !== "user" && role !== "model") wrong("Please use a valid role: user, model.");
  const parts = listAt(content.parts, `${at}.parts`);
  if (parts.length === 0) wrong(`* GenerateContentRequest.${at}.parts: contents.parts must not be empty.\n`);
  return { role, parts: parts.map((part, i) => readPart(part, `${at}.parts[${i}]`, count)) };
}

/** A call follows a user's turn, and what it returned comes right behind it, a part for each call. */
function checkTurn(content: Content, before: Content | undefined, after: Content | undefined): void {
  const calls = of(content, "tool_call");
  const results = of(content, "tool_result");
  if (calls.length > 0) {
    if (content.role !== "model" || before?.role !== "user") {
      wrong(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      );
    }
    if (after !== undefined && of(after, "tool_result").length !== calls.length) {
      wrong(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      );
    }
  }
  if (results.length === 0) return;
  const asked = of(before, "tool_call");
  if (content.role !== "user" || asked.length === 0) {
    wrong("Please ensure that function response turn comes immediately after a function call turn.");
  }
  const stray = results.find((result) => !asked.some((call) => answers(result, call)));
  if (stray !== undefined) {
    wrong(`Please ensure that function response parts answer the functions called: ${stray.name} was not.`);
  }
}

function answers(result: InputPart, call: InputPart): boolean {
  return result.name === call.name && (result.id === null || call.id === null || result.id === call.id);
}

/** Every first call since the user last spoke must bring its signature back. */
function checkSignatures(contents: readonly Content[]): void {
  const spoke = contents.findLastIndex(
    ({ role, parts }) => role === "user" && parts.some((part) => part.kind !== "tool_result"),
  );
  contents.forEach((content, i) => {
    const [first] = of(content, "tool_call");
    if (i <= spoke || first === undefined || first.signed) return;
    wrong(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${first.name}\` , position ${i + 1}.`,
    );
  });
}

function of(content: Content | undefined, kind: InputPart["kind"]): InputPart[] {
  return content?.parts.filter((part) => part.kind === kind) ?? [];
}
