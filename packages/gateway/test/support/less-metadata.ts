import type { RequestRecord } from "@sluicegate/contract";
import { expect } from "vitest";

/** A chat answer less what the gateway put in of its own, which has to be there once and to agree with the row. */
export function lessMetadata(body: string, row: RequestRecord): string {
  const found = [
    ...body.matchAll(/,"gateway_metadata":(\{[^{}]*\})(?=\s*\}$)/g),
    ...body.matchAll(/data: \{"id":"req_[^\n]*"choices":\[\],"gateway_metadata":(\{[^{}]*\})\}\n\n(?=data: \[DONE\])/g),
  ];
  expect(found).toHaveLength(1);
  const [whole = "", metadata = ""] = found[0] ?? [];
  expect(JSON.parse(metadata)).toMatchObject({
    request_id: row.request_id,
    deployment: row.deployment,
    cost_usd: row.cost_micro_usd / 1e6,
  });
  return body.replace(whole, () => "");
}
