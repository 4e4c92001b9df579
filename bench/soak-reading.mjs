// What `npm run soak` asks the gateway, and reads in its ledger.
import { createRequire } from "node:module";
import { join } from "node:path";
import { ADMIN_KEY } from "./soak-requests.mjs";

const headers = { authorization: `Bearer ${ADMIN_KEY}` };

/** GET /v1/stats. */
export async function readStats(port) {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/stats`, { headers });
  if (answer.status !== 200) throw new Error(`/v1/stats: status ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

/** One Prometheus scrape, as monitoring does it all day. */
export async function scrapeMetrics(port) {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`/metrics: status ${answer.status}: ${text}`);
}

/** Rows of the ledger in a data directory, by alias; those of aliases that are not asked for together. The gateway must have ended. */
export function rowsByAlias(folder, aliases) {
  const Database = createRequire(join(import.meta.dirname, "../packages/gateway/package.json"))("better-sqlite3");
  const database = new Database(join(folder, "ledger.sqlite"), { readonly: true });
  try {
    const rows = database.prepare("SELECT alias, count(*) AS n FROM requests GROUP BY alias").all();
    const counts = Object.fromEntries(aliases.map((alias) => [alias, 0]));
    let others = 0;
    for (const { alias, n } of rows) {
      if (alias in counts) counts[alias] = n;
      else others += n;
    }
    return { ...counts, "refused before it had one, or another": others };
  } finally {
    database.close();
  }
}
