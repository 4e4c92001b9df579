import type { ErrorClass, RequestRecord, Usage } from "@sluicegate/contract";
import { UPSTREAM_MODEL } from "./chat-sources.ts";
import { type ClientName, DIALECTS } from "./client-dialects.ts";
import { freshName, type TestGateway } from "./gateway.ts";
import { type Json, payloadsOf } from "./loose-json.ts";
import { differ, sorted, wrongReply } from "./matrix-compare.ts";
import { type Expected, toldOf, wrongError, wrongStreamError } from "./matrix-expected.ts";
import type { MatrixSource } from "./matrix-sources.ts";
import { PLACE_HEADER, type ReplayServer, responseBytes, type TrafficRecord } from "./replay-server.ts";
import type { Reply } from "./said.ts";
import { until } from "./until.ts";

/** The two servers that a suite talks to. */
export interface Stage {
  gateway: TestGateway;
  replay: ReplayServer;
}

/** One recorded answer, served to one client. */
export interface Play {
  record: TrafficRecord;
  /** Where it counts in the table. */
  line: string;
  /** Alias, deployment and provider that serve it. */
  alias: string;
  client: ClientName;
  expected: Expected;
  /** The recorded answer is in the client's own dialect: its bytes are expected rather than what they say. */
  own: boolean;
  /** Where it was recorded; what its kind does to a request is held against that. */
  source?: Pick<MatrixSource, "asked" | "path" | "model">;
  /** What the client sends; default: a small request. */
  body?: Json;
  /** Reasoning is put together with other white space than it came in. */
  loose?: boolean;
  /** What was used, where the source counts in a way of its own; null: it does not say. */
  usage?: Usage | null;
}

/** What came of it. */
export interface Played {
  play: Play;
  requestId: string;
  status: number;
  body: Buffer;
  contentType: string;
  /** The request body that reached the provider. */
  upstream: { path: string; body: string } | null;
}

/** Plays in flight at once. */
const AT_ONCE = 12;

/** Plays them all. */
export async function playAll(stage: Stage, plays: readonly Play[]): Promise<Played[]> {
  const played: Played[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < plays.length; index = next++) {
      const play = plays[index];
      if (play) played[index] = await playOne(stage, play);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return played;
}

async function playOne({ gateway, replay }: Stage, play: Play): Promise<Played> {
  const { record, alias, client } = play;
  const place = freshName();
  replay.serve(asEvents(record), play.own ? 997 : undefined, place);
  const stream = streamsOf(record);
  const dialect = DIALECTS[client];
  const response = await gateway.post(play.body ?? dialect.body(alias, stream), {
    path: dialect.path(alias, stream),
    headers: { "x-sluicegate-metadata": "off", [PLACE_HEADER]: place },
  });
  const body = Buffer.from(await response.arrayBuffer());
  return {
    play,
    requestId: response.headers.get("x-request-id") ?? "",
    status: response.status,
    body,
    contentType: response.headers.get("content-type") ?? "",
    upstream: replay.seen(place),
  };
}

/** Was a stream asked for? An error answer to a stream is JSON. */
export function streamsOf({ stream, request }: TrafficRecord): boolean {
  return stream || (request?.body as Json | null)?.["stream"] === true || /:streamGenerate/.test(request?.path ?? "");
}

/** Upstream, a stream is always asked for as events; Google's JSON arrays are framed so. */
export function asEvents(record: TrafficRecord): TrafficRecord {
  const text = responseBytes(record).toString("utf8");
  if (!record.stream || record.response.status !== 200 || !/^\s*[[{]/.test(text)) return record;
  const whole = JSON.parse(text) as Json | Json[];
  const body = [whole].flat().map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`);
  const headers = { ...record.response.headers, "content-type": "text/event-stream" };
  return { ...record, response: { status: 200, headers, body: body.join("") } };
}

/** Every row of these requests, waited for until all of them are settled. */
export async function rowsOf(
  { gateway }: Pick<Stage, "gateway">,
  played: readonly Pick<Played, "requestId">[],
): Promise<Map<string, RequestRecord>> {
  const wanted = new Set(played.map(({ requestId }) => requestId));
  const rows = new Map<string, RequestRecord>();
  await until("the rows of all requests", async () => {
    for (let cursor: string | undefined = ""; cursor !== undefined && rows.size < wanted.size; ) {
      const page = await gateway.admin(
        `/admin/requests?limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      const { data, next_cursor } = (await page.json()) as { data: RequestRecord[]; next_cursor?: string };
      for (const row of data) if (wanted.has(row.request_id) && row.status !== "running") rows.set(row.request_id, row);
      cursor = next_cursor;
    }
    return rows.size === wanted.size;
  });
  return rows;
}

/** What is wrong with an answer, and with its row; null: nothing. */
export function wrongWith(played: Played, row: RequestRecord | undefined): string | null {
  const { play } = played;
  try {
    const { expected } = play;
    const wrong =
      expected.kind === "failure"
        ? wrongFailure(played, row, expected.class)
        : (wrongAnswer(played, expected.reply) ?? wrongRow(played, row, expected.reply));
    return wrong === null ? null : `${play.alias} ${play.client} ${play.record.id}: ${wrong}`;
  } catch (thrown) {
    return `${play.alias} ${play.client} ${play.record.id}: ${thrown instanceof Error ? thrown.message : thrown}`;
  }
}

function wrongAnswer({ play, status, body, contentType, upstream }: Played, reply: Reply): string | null {
  const { record, client, own } = play;
  const dialect = DIALECTS[client];
  const text = body.toString("utf8");
  if (status !== 200) return `status ${status}: ${text.slice(0, 300)}`;
  const type = record.stream && client !== "gemini-array" ? "text/event-stream; charset=utf-8" : "application/json";
  if (!contentType.startsWith(type)) return `content type ${contentType}`;
  if (own) return wrongUpstream(play, upstream) ?? wrongBytes(client, record, text);
  dialect.check(text, record.stream);
  const got = dialect.read(body, record.stream);
  const want = dialect.tells({ ...reply, usage: countedOf(play, reply) });
  const wrong = wrongReply(got, want, play.loose === true);
  if (wrong) return wrong;
  const model = want.model ?? play.source?.model ?? UPSTREAM_MODEL;
  return got.model === model ? null : `model ${got.model} for ${model}`;
}

/** The client's own request reaches a provider of its dialect with nothing changed but the model. */
function wrongUpstream({ body, alias, client, record, source }: Play, upstream: Played["upstream"]): string | null {
  const path = source?.path?.(streamsOf(record));
  if (path !== undefined && upstream?.path !== `/${alias}${path}`) return `asked at ${upstream?.path}, not ${path}`;
  if (!body) return null;
  const asked = JSON.parse(upstream?.body ?? "null") as Json;
  // Gemini's path names the model, and some name it once more in the body.
  const gemini = client.startsWith("gemini");
  const plain = gemini && !body["model"] ? body : { ...body, model: (gemini ? "models/" : "") + UPSTREAM_MODEL };
  const want = source?.asked?.(plain) ?? plain;
  if (client === "completions" && want["stream"] === true)
    want["stream_options"] = { ...(want["stream_options"] as Json), include_usage: true };
  return JSON.stringify(asked) === JSON.stringify(want) ? null : `${alias} was asked ${differ(asked, want)}`;
}

function countedOf(play: Play, reply: Reply): Usage | null {
  return play.usage === undefined ? reply.usage : play.usage;
}

/** An id with its deployment's token in it (ruling 23). */
const TOKEN = /"id": ?"[a-z]+_([0-9a-f]{12})[_.]/;

/** The account that can read what follows. */
const SEAL = /(?<="encrypted_content": ?")sga\.[0-9a-f]{8}\./g;

function wrongBytes(client: ClientName, record: TrafficRecord, text: string): string | null {
  const recorded = responseBytes(record).toString("utf8");
  if (client === "gemini-array" && record.stream) {
    const [got, want] = [JSON.parse(text), [geminiPayloads(recorded)].flat()];
    return JSON.stringify(got) === JSON.stringify(want) ? null : `elements ${differ(got, want)}`;
  }
  const want = record.stream ? firstAnswer(responseBytes(asEvents(record)).toString("utf8")) : recorded;
  const token = client === "responses" ? TOKEN.exec(text)?.[1] : undefined;
  if (client === "responses" && token === undefined) return "the ids carry no token";
  const bare =
    token === undefined
      ? text
      : text
          .replaceAll(`_${token}_`, "_")
          .replaceAll(new RegExp(`[a-z]+_${token}\\.`, "g"), "")
          .replaceAll(SEAL, "");
  return bare === want ? null : `bytes ${differ(bare, want)}`;
}

function geminiPayloads(text: string): unknown {
  return /^\s*[[{]/.test(text) ? JSON.parse(text) : payloadsOf(text);
}

/** Up to the first event that ends an answer: some recordings hold several; and with the blank line that ends an event. */
function firstAnswer(text: string): string {
  const end = /"type": ?"(?:message_stop|response\.(?:completed|incomplete))"[^\n]*\n\n/.exec(text);
  if (end) return text.slice(0, end.index + end[0].length);
  if (/(?:\r?\n){2}$/.test(text)) return text;
  return text + (text.endsWith("\n") ? "\n" : "\n\n");
}

function wrongFailure({ play, status, body }: Played, row: RequestRecord | undefined, kind: ErrorClass): string | null {
  const { record, client, own } = play;
  const failed = row?.attempts[0]?.error_class;
  if (failed !== kind) return `class ${failed} for ${kind}`;
  const text = body.toString("utf8");
  const refusal = kind === "bad_request" || kind === "content_filtered";
  if (own && refusal && record.response.status !== 200) {
    const same = text === responseBytes(record).toString("utf8") && status === record.response.status;
    return same ? null : `not word for word: ${status} ${text.slice(0, 200)}`;
  }
  if (own && refusal) return status === 400 ? null : `status ${status}`;
  const want = toldOf(kind, record.response.status);
  if (status === 200) return wrongStreamError(client, text, want);
  return wrongError(client, status, JSON.parse(text), want);
}

function wrongRow({ play }: Played, row: RequestRecord | undefined, reply: Reply): string | null {
  const usage = countedOf(play, reply);
  if (row?.status !== "ok") return `row ${row?.status}`;
  if (row.dialect !== DIALECTS[play.client].protocol) return `row of dialect ${row.dialect}`;
  if (usage && JSON.stringify(sorted(row.usage)) !== JSON.stringify(sorted(usage)))
    return `row's usage ${differ(sorted(row.usage), sorted(usage))}`;
  if (row.cost_state !== (usage ? "known" : "estimated")) return `row's cost is ${row.cost_state}`;
  const { finish } = reply.choices[0] ?? { finish: null };
  return row.finish_reason === finish ? null : `row's finish ${row.finish_reason} for ${finish}`;
}
