import type { Usage } from "@sluicegate/contract";
import { at } from "./loose-json.ts";
import type { Reply, Said, SaidCall } from "./said.ts";

/**
 * What is wrong with what a client was told, held against what it should have been; null: nothing. `loose`: thoughts and
 * text may have come with other white space.
 */
export function wrongReply(got: Reply, want: Reply, loose: boolean): string | null {
  if (got.choices.length !== want.choices.length) return `${got.choices.length} of ${want.choices.length} choices`;
  for (const [index, said] of want.choices.entries()) {
    const wrong = wrongSaid(got.choices[index] as Said, said, loose);
    if (wrong) return wrong;
  }
  // Where nothing was counted, some dialects say so and some say nothing.
  const [is, should] = [got, want].map(({ usage }) => (usage && total(usage) > 0 ? usage : null));
  return JSON.stringify(is) === JSON.stringify(should) ? null : `usage ${differ(is, should)}`;
}

function total(usage: Usage): number {
  return Object.values(usage).reduce((sum, count) => sum + count, 0);
}

function wrongSaid(got: Said, want: Said, loose: boolean): string | null {
  for (const key of ["text", "refusal", "reasoning"] as const) {
    const [is, should] = [got[key], want[key]].map((text) => (loose ? text.replace(/\s+/g, "") : text));
    if (is !== should) return `${key} ${differ(is, should)}`;
  }
  const [calls, wanted] = [got, want].map((said) => said.calls.map((call) => sorted(bare(call))));
  if (JSON.stringify(calls) !== JSON.stringify(wanted)) return `calls ${differ(calls, wanted)}`;
  // An answer that does not say why it ended has ended.
  if (got.finish !== (want.finish ?? "stop")) return `finish ${got.finish} for ${want.finish}`;
  const lost = want.proofs.filter((proof) => !got.proofs.includes(proof));
  return lost.length === 0 ? null : `${lost.length} proofs lost of ${want.proofs.length}: ${differ(got.proofs, lost)}`;
}

/** Dialects that know only objects wrap arguments that are none. */
function bare(call: SaidCall): SaidCall {
  const raw = at(call.arguments, "__raw_arguments");
  return raw === undefined ? call : { ...call, arguments: raw };
}

/** With the members of all objects in one order. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([key, one]) => [key, sorted(one)]));
}

/** Where two values part. */
export function differ(got: unknown, want: unknown): string {
  const [a, b] = [got, want].map((value) => JSON.stringify(value) ?? "undefined") as [string, string];
  let from = 0;
  while (from < a.length && a[from] === b[from]) from++;
  const cut = (text: string): string => text.slice(Math.max(0, from - 20), from + 120);
  return `${cut(a)} for ${cut(b)}`;
}
