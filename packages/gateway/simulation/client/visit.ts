/** One request of a client's and what came of it, as the client saw it. Times are virtual ms. */
export interface ClientVisit {
  /** `c12.0`: in the prompt, and as the client's own request id. */
  mark: string;
  replica: string;
  startedMs: number;
  sentWholeMs: number | null;
  status: number | null;
  headers: ReadonlyMap<string, string>;
  headMs: number | null;
  /** When the first byte came that is no sign of life alone. */
  firstOutputMs: number | null;
  endedMs: number | null;
  /** `answered`: to its end. `closed`: the gateway closed the connection. `lost`: its replica died. `left`: the client went. */
  end: "running" | "answered" | "closed" | "lost" | "left";
  bytes: Buffer[];
  /** What the gateway did with the connection that it must not. */
  faults: string[];
  waitingBytesMax: number;
}

/** A visit that has just begun. */
export function openVisit(mark: string, replica: string, startedMs: number): ClientVisit {
  return {
    ...{ mark, replica, startedMs, sentWholeMs: null, status: null, headers: new Map(), headMs: null },
    ...{ firstOutputMs: null, endedMs: null, end: "running", bytes: [], faults: [], waitingBytesMax: 0 },
  };
}
