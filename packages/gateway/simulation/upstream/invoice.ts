import { type ErrorClass, noUsage, type Usage } from "@sluicegate/contract";
import type { ActKind } from "./act.ts";

/** One call as the provider saw it, and what it bills for it. Times are virtual ms. */
export interface InvoiceLine {
  /** Its place among all calls of the run. */
  order: number;
  /** The provider's own name for it, told in the head of the answer. */
  id: string;
  replica: string;
  deployment: string;
  /** Which client request it was made for: it stands in the prompt. */
  mark: string;
  stream: boolean;
  act: ActKind;
  /** What it is to be taken for; null: a good answer. */
  fails: ErrorClass | null;
  startedMs: number;
  sentMs: number | null;
  headMs: number | null;
  /** When the first piece of an answer went out. */
  firstOutputMs: number | null;
  endedMs: number | null;
  /** When all of a stream had been said: what is left is a connection that nobody closes. */
  saidMs: number | null;
  /** How it ended: by itself, or broken off by the gateway. */
  end: "running" | "ended" | "aborted";
  /** What the provider said of how long it wants to be left alone, ms. */
  retryAfterMs: number | null;
  /** It was said as a date. */
  isDate: boolean;
  /** Tokens it has worked for so far. */
  billed: Usage;
  /** What it has told of them; null: nothing yet. */
  reported: Usage | null;
  /** Nothing is billed for an answer that is a refusal. */
  free: boolean;
  /** The text that has gone out. */
  text: string;
  /** What ends it badly has been said: an error event, or something that is none. */
  saidBroken: boolean;
  /** Everything was said: the finish reason is out. */
  complete: boolean;
  finish: "stop" | "length" | "content_filter";
}

/** All calls of a run, by all providers, in their order. */
export class Invoice {
  readonly lines: InvoiceLine[] = [];
  readonly #byMark = new Map<string, InvoiceLine[]>();

  open(
    known: Pick<InvoiceLine, "replica" | "deployment" | "mark" | "stream" | "act" | "fails" | "startedMs">,
  ): InvoiceLine {
    const order = this.lines.length;
    const line: InvoiceLine = {
      ...known,
      order,
      id: `up-${order}`,
      ...{
        sentMs: null,
        headMs: null,
        firstOutputMs: null,
        endedMs: null,
        saidMs: null,
        end: "running",
        retryAfterMs: null,
        isDate: false,
      },
      ...{
        billed: noUsage(),
        reported: null,
        free: true,
        text: "",
        saidBroken: false,
        complete: false,
        finish: "stop",
      },
    };
    this.lines.push(line);
    const same = this.#byMark.get(known.mark);
    if (same) same.push(line);
    else this.#byMark.set(known.mark, [line]);
    return line;
  }

  /** The calls made for one client request, in their order. */
  of(mark: string): readonly InvoiceLine[] {
    return this.#byMark.get(mark) ?? [];
  }
}
