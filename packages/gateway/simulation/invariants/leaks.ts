import type { Remains } from "../world/run.ts";

/** Nothing is held by anybody when nobody asks for anything any more. */
export function checkLeaks({ fleet, upstreams, clients, books, findings }: Remains): void {
  for (const replica of fleet.all)
    for (const what of replica.close()) findings.add("no leaks", `${replica.name}: ${what}`);
  for (const line of upstreams.invoice.lines)
    if (line.end === "running")
      findings.add("no leaks", `${line.id} of ${line.mark} is still open at ${line.deployment}`);
  for (const id of books.open.keys()) findings.add("ledger: settled once", `${id} was admitted and never settled`);
  for (const { visits, spec, unserved } of clients) {
    if (unserved) findings.add("everybody is answered", `${spec.name} found no replica`);
    for (const { mark, end } of visits)
      if (end === "running") findings.add("everybody is answered", `${mark} still waits`);
  }
}
