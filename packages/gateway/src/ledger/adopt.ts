import { statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../core/clock.ts";
import { Consumer } from "./consumer.ts";
import { adoptOwned, listOwned } from "./owner-lock.ts";
import { SegmentTail } from "./segment-tail.ts";
import { listSegments, segmentPath } from "./segments.ts";
import type { LedgerStore, Rejected } from "./store.ts";

/** What became of one dead gateway's spool. */
interface Adopted {
  instance: string;
  lines: number;
  abandoned: number;
}

/** What adopting needs. */
export interface AdoptOptions {
  root: string;
  /** The spool directory that is our own. */
  own: string;
  clock: Clock;
  store: () => LedgerStore;
  onRejected: (rejected: Rejected[]) => void;
  onAdopted: (adopted: Adopted) => void;
}

/**
 * Brings the spools of dead gateways into the database and deletes them. One that fails stays as it is and does not
 * hold up the others; the first failure is thrown at the end. As lines may be applied twice, a later call begins anew.
 */
export async function adoptOrphans(options: AdoptOptions): Promise<void> {
  const failures: unknown[] = [];
  for (const name of listOwned(options.root, options.clock.now())) {
    if (name === options.own) continue;
    await adoptOne(join(options.root, name), name, options).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

/** Requests that run in the database for a gateway whose spool is gone altogether (its volume was lost) are abandoned. */
export function abandonLost({ root, clock, store, onAdopted }: AdoptOptions): void {
  const running = store().runningInstances();
  // Listed after the query: whoever has a running row has had a spool before.
  const spools = new Set(listOwned(root, clock.now()));
  for (const instance of running.filter((name) => !spools.has(name))) {
    onAdopted({ instance, lines: 0, abandoned: store().abandonRunning(instance) });
  }
}

async function adoptOne(path: string, instance: string, options: AdoptOptions): Promise<void> {
  const directory = adoptOwned(path);
  if (!directory) return;
  try {
    options.onAdopted(await adopt(path, instance, options));
    directory.remove();
  } finally {
    directory.release();
  }
}

async function adopt(path: string, instance: string, options: AdoptOptions): Promise<Adopted> {
  const tail = new SegmentTail(path);
  try {
    const last = listSegments(path).at(-1);
    if (last !== undefined) tail.extend({ segment: last, bytes: statSync(segmentPath(path, last)).size });
    const consumer = new Consumer(tail, instance, options.clock, Number.POSITIVE_INFINITY);
    for (let rejected = consumer.step(options.store(), false); rejected; ) {
      options.onRejected(rejected);
      await nextTurn();
      rejected = consumer.step(options.store(), false);
    }
    const unsettled = consumer.takeHeld();
    options.onRejected(options.store().abandon(unsettled));
    const abandoned = unsettled.length + options.store().abandonRunning(instance);
    return { instance, lines: consumer.lines, abandoned };
  } finally {
    tail.close();
  }
}
