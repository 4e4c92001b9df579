import { type AttemptRow, noUsage, type RequestRow, type Usage } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anAdmission, anAttempt, aRow } from "./fixtures/rows.ts";
import {
  ADMITTED_FIELDS,
  ADMITTED_OWN_FIELDS,
  ATTEMPT_FIELDS,
  ATTEMPT_OWN_FIELDS,
  ATTEMPT_SHARED_FIELDS,
  type AttemptExtras,
  REQUEST_FIELDS,
  SETTLED_FIELDS,
  SUM_FIELDS,
  TIME_FIELDS,
  USAGE_FIELDS,
} from "./layout.ts";
import { LeanLines } from "./lean-line.ts";
import type { Admission } from "./ledger.ts";
import {
  admissionLine,
  lineHead,
  needsAdmission,
  parseLine,
  parseSettlement,
  type SpoolLine,
  settlementLine,
} from "./spool-line.ts";

const TAGS_AT = REQUEST_FIELDS.indexOf("tags");
const FACTS_AT = REQUEST_FIELDS.indexOf("facts");

/** Few values each, so that runs come again, and come again with one value changed. */
const text = fc.constantFrom(null, "a", "b", "ü\t\n\"'\\", "\ud800", "\u2028");
const name = fc.constantFrom("a", "b", 'ü\t\n"\\');
const time = fc.option(
  fc.oneof(
    fc.nat(1e6).map((tenths) => tenths / 10),
    fc.constantFrom(0, 12.25, 1e12, -1),
  ),
);
const count = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(0, 0, 1, 312, 2 ** 31 - 1) },
  fc.constantFrom(2 ** 31, 0.5),
);
const tags = fc.dictionary(fc.constantFrom("tier", "ü", "__proto__x"), fc.constantFrom("gold", "\t\n"), { maxKeys: 2 });
const facts = fc.option(fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue(), { maxKeys: 3 }));

const usage: fc.Arbitrary<Usage> = fc.record({
  input_tokens: count,
  cached_input_tokens: count,
  cache_write_tokens: count,
  cache_write_1h_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
});

const attempt = fc.record({
  n: fc.constantFrom(1, 2, 17),
  deployment: name,
  provider: name,
  model: name,
  status: fc.constantFrom("ok", "failed", "cancelled"),
  error_class: fc.constantFrom(null, "timeout"),
  http_status: fc.constantFrom(null, 200, 503),
  usage,
  cost_micro_usd: count,
  cost_state: fc.constantFrom("known", "estimated", "unknown"),
  latency_ms: time.map((ms) => ms ?? 0),
  ttft_ms: time,
  hedge: fc.boolean(),
  retry: fc.boolean(),
  credential: fc.option(
    fc.record({ name, generation: fc.constantFrom(1, 2), owner: fc.constantFrom("shared", "tenant") }),
  ),
  provider_request_id: fc.oneof(text, fc.constantFrom("", "req-1", '"', "a b", "é")),
  region: fc.constantFrom(undefined, null, "eu", "us"),
  capacity: fc.constantFrom(undefined, null, "provisioned"),
}) as fc.Arbitrary<AttemptRow>;

/** What an admission knows. */
const admitted = fc.record({
  client_request_id: text,
  parent_request_id: text,
  purpose: fc.constantFrom("client", "classifier"),
  tenant: name,
  team: text,
  application: text,
  agent: text,
  user: text,
  session: text,
  key_id: text,
  alias: text,
  route: text,
  rule: text,
  variant: text,
  dialect: name,
  stream: fc.boolean(),
  template_version: text,
  task_class: text,
  classification: text,
  trace_id: text,
  cache: fc.constantFrom(null, "bypass"),
  deployment: text,
  provider: text,
  model: text,
  region: text,
  tags,
  facts,
}) as fc.Arbitrary<Partial<RequestRow>>;

/** What may be otherwise when it is settled. */
const settled = fc.record({
  status: fc.constantFrom("ok", "failed", "cancelled"),
  error_code: fc.constantFrom(null, "timeout"),
  finish_reason: text,
  deployment: text,
  provider: text,
  model: text,
  response_model: text,
  region: text,
  usage,
  cost_micro_usd: count,
  cost_state: fc.constantFrom("known", "estimated", "unknown"),
  saved_micro_usd: fc.constantFrom(0, 5),
  cache: fc.constantFrom(null, "bypass", "hit"),
  latency_ms: time,
  ttft_ms: time,
  overhead_ms: time,
  fallback_depth: fc.constantFrom(0, 1),
  hedged: fc.boolean(),
  repeated: fc.constantFrom(1, 2),
}) as fc.Arbitrary<Partial<RequestRow>>;

const admission = fc
  .record({ changes: admitted, attempt })
  .map(({ changes, attempt }): Admission => ({ row: aRunning(changes), attempt }));

function aRunning(changes: Partial<RequestRow>): RequestRow {
  return { ...anAdmission("req_01abc").row, overhead_ms: null, ...changes };
}

/** What cannot have happened to a request that was just admitted. */
const NOT_YET: Partial<RequestRow> = {
  ...{ status: "running", error_code: null, finish_reason: null, response_model: null, cost_state: "known" },
  ...{ usage: noUsage(), cost_micro_usd: 0, saved_micro_usd: 0, fallback_depth: 0, hedged: false, repeated: 1 },
  ...{ latency_ms: null, ttft_ms: null, overhead_ms: null },
};

function otherThan(value: unknown): unknown {
  if (typeof value === "boolean") return !value;
  return typeof value === "number" ? value + 1 : `other than ${value}`;
}

/** Tags and facts as lean lines have them: JSON text. */
function withTexts({ request, attempts }: SpoolLine): SpoolLine {
  const texts = request.map((value, at) =>
    (at === TAGS_AT || at === FACTS_AT) && value !== null && typeof value === "object" ? JSON.stringify(value) : value,
  );
  return { request: texts, attempts };
}

const withoutNewline = (line: string) => {
  expect(line.indexOf("\n")).toBe(line.length - 1);
  return line.slice(0, -1);
};

/** The row as it is settled; its sums are those of its only attempt where `summed`. */
function settledRow(
  row: RequestRow,
  changes: Partial<RequestRow>,
  attempts: AttemptRow[],
  summed: boolean,
): RequestRow {
  const [only] = attempts;
  if (!only || !summed) return { ...row, ...changes };
  const { cost_micro_usd, cost_state } = only;
  return { ...row, ...changes, usage: { ...only.usage }, cost_micro_usd, cost_state };
}

describe("lean lines", () => {
  const lines = new LeanLines();

  it("say of an admission what a whole line says", () => {
    fc.assert(
      fc.property(admission, (one) => {
        const line = withoutNewline(lines.admission(one));
        expect(lineHead(line)).toEqual({ kind: "admission", requestId: "req_01abc" });
        expect(withTexts(parseLine(line))).toEqual(withTexts(parseLine(admissionLine(one))));
      }),
      { numRuns: 1_000 },
    );
  });

  it("say of a settlement, with its admission, what a whole line says", () => {
    const attempts = fc.oneof(fc.array(attempt, { maxLength: 3 }), fc.tuple(attempt));
    fc.assert(
      fc.property(admission, settled, attempts, fc.boolean(), fc.boolean(), (one, changes, tried, summed, isOld) => {
        const before = isOld ? admissionLine(one) : lines.admission(one);
        const row = settledRow(one.row, changes, tried, summed);
        const line = withoutNewline(lines.settlement(row, tried));
        expect(lineHead(line)).toEqual({ kind: "settlement", requestId: "req_01abc" });
        const whole = settlementLine(row, tried);
        expect(withTexts(parseSettlement(line, withoutNewline(before)))).toEqual(withTexts(parseLine(whole)));
        expect(parseSettlement(whole, null)).toEqual(parseLine(whole));
      }),
      { numRuns: 2_000 },
    );
  });

  it("say what is so now, though all but one value of a run is as it was before", () => {
    const others: Partial<RequestRow>[] = [
      ...[...ADMITTED_FIELDS, ...SETTLED_FIELDS].map((field) => ({ [field]: otherThan(aRow("r")[field]) })),
      ...TIME_FIELDS.map((field) => ({ [field]: 77 })),
      { cost_micro_usd: 77 },
      ...USAGE_FIELDS.map((field) => ({ usage: { ...aRow("r").usage, [field]: 77 } })),
    ];
    const attempt = anAttempt(1);
    const tried: Partial<AttemptRow & AttemptExtras>[] = [
      ...(["deployment", "provider", "model", "status", "error_class", "http_status", "cost_state"] as const).map(
        (field) => ({ [field]: otherThan(attempt[field]) }),
      ),
      ...[{ hedge: true }, { retry: true }, { region: "eu" }, { capacity: "batch" }, { credential: null }],
      { credential: { name: "other", generation: 1, owner: "shared" } },
      { credential: { name: "sim", generation: 2, owner: "shared" } },
      { credential: { name: "sim", generation: 1, owner: "tenant" } },
      { cost_micro_usd: 77 },
      ...USAGE_FIELDS.map((field) => ({ usage: { ...attempt.usage, [field]: 77 } })),
    ];
    const says = (lines: LeanLines, row: RequestRow, attempt: AttemptRow) => {
      const admission = { row: { ...row, ...NOT_YET }, attempt };
      const line = withoutNewline(lines.admission(admission));
      expect(withTexts(parseLine(line))).toEqual(withTexts(parseLine(admissionLine(admission))));
      const settled = parseSettlement(withoutNewline(lines.settlement(row, [attempt])), line);
      expect(withTexts(settled)).toEqual(withTexts(parseLine(settlementLine(row, [attempt]))));
    };
    // The one that is remembered comes first, then the other; a fresh writer each, as it remembers both after that.
    for (const change of others) {
      const lines = new LeanLines();
      says(lines, aRow("r"), attempt);
      says(lines, aRow("r", change), attempt);
    }
    for (const change of tried) {
      const lines = new LeanLines();
      says(lines, aRow("r"), attempt);
      says(lines, aRow("r"), { ...attempt, ...change } as AttemptRow);
    }
  });

  it("are a fraction of whole ones", () => {
    const usage = { ...aRow("r").usage, input_tokens: 312, output_tokens: 121 };
    const row = aRow("req_01abc", { usage, cost_micro_usd: 9, facts: { alias: "default" } });
    const attempt = anAttempt(1, { usage, cost_micro_usd: 9, provider_request_id: "p-1" });
    const [running, done] = [lines.admission(anAdmission("req_01abc")), lines.settlement(row, [attempt])];
    expect(done).toBe(
      `S\treq_01abc\t["ok",null,"stop","one","sim","sim/echo","echo-1",null,"known",0,null,0,0,1]\t125,30,4` +
        `\t["one","sim","sim/echo","ok",null,200,"known",0,0,"sim",1,"shared",null,null]\tp-1\t1,100,30,9,312,121\n`,
    );
    expect(running).toBe(
      `A\treq_01abc\t2026-11-01T12:00:00.000Z\t["client","acme",null,null,"ci","default","default","chain",null,` +
        `"openai-chat",0,null,null,null,null,null,null,null,null]\t\t\t` +
        `\t["one","sim","sim/echo","cancelled",null,200,"estimated",0,0,"sim",1,"shared",null,null]\t\t1,100,30,7,100,0\n`,
    );
  });

  it("are whole where a number is not plain", () => {
    expect(lines.settlement(aRow("req_1"), [anAttempt(1.5)])).toMatch(/^\["s",/);
    for (const changes of [
      { latency_ms: 12.25 },
      { cost_micro_usd: 2 ** 31 },
      { usage: { ...aRow("r").usage, output_tokens: 0.5 } },
    ]) {
      expect(lines.settlement(aRow("req_1", changes), [])).toBe(settlementLine(aRow("req_1", changes), []));
      expect(lines.settlement(aRow("req_1"), [anAttempt(1, changes)])).toMatch(/^\["s",/);
      const { row, attempt } = anAdmission("req_1");
      expect(lines.admission({ row, attempt: { ...attempt, ...changes } })).toMatch(/^\["a",/);
    }
  });
});

describe("a lean settlement", () => {
  const lines = new LeanLines();
  const line = lines.settlement(aRow("req_1"), [anAttempt(1)]).trimEnd();
  const admission = lines.admission(anAdmission("req_1", { facts: { alias: "a" } })).trimEnd();

  it("needs its admission, and no other", () => {
    expect([line, admission, settlementLine(aRow("r"), [])].map(needsAdmission)).toEqual([true, false, false]);
    expect(() => parseSettlement(line, null)).toThrow(TypeError);
    expect(() => parseLine(line)).toThrow(SyntaxError);
    expect(() => parseSettlement(line, lines.admission(anAdmission("req_2")))).toThrow(TypeError);
    expect(parseSettlement(line, admission).request[FACTS_AT]).toBe('{"alias":"a"}');
  });

  it("that is cut or damaged is refused", () => {
    for (const cut of [
      line.slice(0, 60),
      line.slice(0, line.indexOf("\t[", 70)),
      `${line}\t[1]`,
      line.replace("125,", "12x,"),
      line.replace("125,", "12.5,"),
    ])
      expect(() => parseSettlement(cut, admission), cut).toThrow(/not a line|JSON/);
    for (const cut of [
      admission.slice(0, 60),
      admission.replace('"alias"', '"\0ias"'),
      admission.replace('"a"}', '"a"'),
    ])
      expect(() => parseSettlement(line, cut), cut).toThrow(/not a line|JSON/);
  });

  it("of a build that knows more fields is read as far as this one knows them", () => {
    const newer = line.replace("0,0,1]", '0,0,1,"more"]').replace("null,null]", 'null,null,{"more":1}]');
    expect(newer).not.toBe(line);
    expect(parseSettlement(newer, admission)).toEqual(parseSettlement(line, admission));
  });
});

describe("the fields of lean lines", () => {
  it("are all those of a request and of an attempt", () => {
    const sorted = (names: readonly string[]) => [...new Set(names)].sort();
    const own = ["request_id", "started_at", "tags", "facts"];
    expect(
      sorted([...own, ...ADMITTED_FIELDS, ...ADMITTED_OWN_FIELDS, ...SETTLED_FIELDS, ...TIME_FIELDS, ...SUM_FIELDS]),
    ).toEqual(sorted(REQUEST_FIELDS));
    expect(sorted([...ATTEMPT_SHARED_FIELDS, ...ATTEMPT_OWN_FIELDS, "provider_request_id"])).toEqual(
      sorted(ATTEMPT_FIELDS),
    );
  });
});
