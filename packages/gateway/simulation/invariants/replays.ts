import { readAnswer } from "../client/read-answer.ts";
import type { InvoiceLine } from "../upstream/invoice.ts";
import type { Remains } from "../world/run.ts";
import { type Case, nameOf } from "./cases.ts";

/** Requests under one Idempotency-Key are one call: made once, whoever leaves, and answered alike (ruling 12). */
export function checkReplays(remains: Remains, cases: readonly Case[]): void {
  const groups = new Map<string, Case[]>();
  for (const one of cases) {
    const { sharedMark } = one.spec;
    if (sharedMark !== null) groups.set(sharedMark, [...(groups.get(sharedMark) ?? []), one]);
  }
  for (const [mark, group] of groups) checkGroup(remains, mark, group);
}

function checkGroup({ upstreams, store, fleet, findings }: Remains, mark: string, group: readonly Case[]): void {
  const wrong = (what: string): void => findings.add("one call a key", `${mark}: ${what}`);
  const calls = upstreams.invoice.of(mark);
  // A process that dies gives its key back after a while, and without the store nobody knows of the others.
  const certain = !store.everLost && fleet.all.every(({ alive }) => alive);
  const runs = group.filter(({ booked }) => (booked?.attempts.length ?? 0) > 0);
  const good = runs.filter(({ booked }) => booked?.row.status === "ok");
  if (certain && good.length > 1) wrong(`${good.length} good runs`);
  if (certain && overlap(calls) && !runs.some(({ booked }) => booked?.row.hedged === true)) wrong("two calls at once");
  const attempts = runs.reduce((sum, { booked }) => sum + (booked?.attempts.length ?? 0), 0);
  if (certain && calls.length > attempts) wrong(`${calls.length} calls, ${attempts} attempts`);
  const texts = new Set(calls.filter(({ complete }) => complete).map(({ text }) => text));
  for (const one of group) checkAnswer(one, texts, wrong);
}

function checkAnswer(one: Case, texts: ReadonlySet<string>, wrong: (what: string) => void): void {
  const { visit, spec, booked } = one;
  for (const fault of visit.faults) wrong(`${nameOf(one)}: ${fault}`);
  if (visit.end === "closed") wrong(`${nameOf(one)}: the connection was closed`);
  if (visit.end !== "answered") return;
  const isStream = visit.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const { error, text, complete, faults } = readAnswer(spec.dialect, visit.bytes, isStream, false);
  for (const fault of faults) wrong(`${nameOf(one)}: ${fault}`);
  if (error) return;
  if (visit.status !== 200 || !complete) wrong(`${nameOf(one)}: ${visit.status}, and no end`);
  if (!texts.has(text)) wrong(`${nameOf(one)}: an answer that nobody gave`);
  if (booked && booked.attempts.length === 0 && visit.headers.get("idempotent-replayed") !== "true")
    wrong(`${nameOf(one)}: replayed, and not said so`);
}

function overlap(calls: readonly InvoiceLine[]): boolean {
  return calls.some(({ startedMs }, i) =>
    calls.slice(0, i).some((before) => (before.saidMs ?? before.endedMs ?? Number.POSITIVE_INFINITY) > startedMs),
  );
}
