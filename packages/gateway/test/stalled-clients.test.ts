import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { certificate } from "./support/certificate.ts";
import { type ChildGateway, expectBuilt, startChildGateway, temporaryFolder } from "./support/child-gateway.ts";
import { CLIENT_KEY, keyHash } from "./support/gateway.ts";
import { postHead, type RawClient, rawClient } from "./support/raw-client.ts";
import { type Peer, startTcpUpstream, type TcpUpstream } from "./support/tcp-upstream.ts";
import { until } from "./support/until.ts";

const KIB = 1024;
const CLIENTS = 8;
/** Has the gateway's process tell, on a signal, what it holds once the collector has been. */
const TELLS = `process.on("SIGUSR2",()=>{for(let i=0;i<4;i++)gc();const{heapUsed,external}=process.memoryUsage();process.stderr.write("holds="+(heapUsed+external)+";")})`;

const usual = (n: number): unknown => ({
  ...{
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "m",
    system_fingerprint: "fp",
  },
  choices: [{ index: 0, delta: { content: ` tok${n % 10}` }, logprobs: null, finish_reason: null }],
});
/** What a chunk of the upstream's says, by its model's name. */
const EVENTS: Record<string, (n: number) => unknown> = {
  usual,
  varied: (n) => ({ ...(usual(n) as object), obfuscation: `x${n}` }),
  tiny: () => ({ choices: [{ delta: { content: "a" } }] }),
  large: () => ({ choices: [{ delta: { content: "x".repeat(8_000) } }] }),
};

const folder = temporaryFolder();
const tls = certificate(folder.path, "upstream", "DNS:localhost,IP:127.0.0.1");
let gateway: ChildGateway;
const upstreams: TcpUpstream[] = [];
const clients: RawClient[] = [];
let poured = 0;

/** Streams without end, each event in a chunk of its own, as fast as it is let. */
async function pour(peer: Peer): Promise<void> {
  const request = await peer.request();
  if (!request) return;
  const { model } = JSON.parse(request.body.toString()) as { model: string };
  let bytes = "";
  for (let n = 0; bytes.length < 64 * KIB; n++) {
    const event = `data: ${JSON.stringify(EVENTS[model]?.(n))}\n\n`;
    bytes += `${event.length.toString(16)}\r\n${event}\r\n`;
  }
  const { socket } = peer;
  socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
  const more = (): void => {
    if (socket.destroyed) return;
    poured += bytes.length;
    if (socket.write(bytes)) setImmediate(more);
    else socket.once("drain", more);
  };
  more();
}

beforeAll(async () => {
  expectBuilt();
  upstreams.push(await startTcpUpstream(pour));
  if (tls) upstreams.push(await startTcpUpstream(pour, { tls }));
  const [plain, secure] = upstreams.map(({ port }) => port);
  const providers = {
    plain: { kind: "openai-compatible", base_url: `http://127.0.0.1:${plain}/v1` },
    ...(secure && { secure: { kind: "openai-compatible", base_url: `https://localhost:${secure}/v1` } }),
  };
  const config = {
    providers,
    tenants: { default: { models: { allow: Object.keys(providers).map((name) => `${name}/*`) } } },
    keys: [{ id: "test", hash: keyHash(CLIENT_KEY), tenant: "default" }],
  };
  writeFileSync(join(folder.path, "sluicegate.yaml"), JSON.stringify(config));
  gateway = await startChildGateway({
    args: ["--config", join(folder.path, "sluicegate.yaml"), "--port", "0", "--data-dir", folder.path],
    cwd: folder.path,
    variables: {
      NODE_OPTIONS: `--expose-gc --import=data:text/javascript,${encodeURIComponent(TELLS)}`,
      ...(tls && { NODE_EXTRA_CA_CERTS: tls.certFile }),
    },
  });
});

afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.destroy();
});

afterAll(async () => {
  await gateway.kill("SIGKILL");
  for (const upstream of upstreams) await upstream.close();
  folder.remove();
});

/** Bytes that the gateway holds. */
async function held(): Promise<number> {
  const before = gateway.stderr().length;
  gateway.process.kill("SIGUSR2");
  const found = await until("what it holds", () => /holds=(\d+);/.exec(gateway.stderr().slice(before)));
  return Number(found[1]);
}

/** A client that asks for a stream, and stops reading when it begins. One that is turned away, as too much, comes again. */
async function stalled(path: string, model: string): Promise<void> {
  const said = path.endsWith("responses") ? { input: "hi" } : { messages: [{ role: "user", content: "hi" }] };
  const text = JSON.stringify({ model, stream: true, max_tokens: 10, ...said });
  const headers = { authorization: `Bearer ${CLIENT_KEY}`, "content-type": "application/json" };
  const head = postHead(path, { ...headers, "content-length": text.length });
  for (let status = ""; status !== "200"; ) {
    const client = await rawClient(gateway.url, head + text);
    client.socket.once("data", () => client.socket.pause());
    status = await until("an answer", () => client.received().toString("latin1", 9, 12) || null);
    if (status === "200") clients.push(client);
    else if (status === "503") await sleep(200);
    else throw new Error(client.received().toString());
  }
}

/** Resolves once nothing more has come from upstream for a while: kernels hold some, and are full. */
async function still(): Promise<void> {
  await until("the upstream to be held up", async () => {
    const before = poured;
    await sleep(400);
    return poured === before;
  });
}

const LANES = { chat: "/v1/chat/completions", messages: "/v1/messages", responses: "/v1/responses" };

describe(`each of ${CLIENTS} clients that do not read costs less than 256 KB`, () => {
  test.each<[keyof typeof LANES, string]>([
    ["chat", "usual"],
    ["chat", "tiny"],
    ["chat", "large"],
    ["messages", "varied"],
    ["messages", "tiny"],
    ["responses", "usual"],
    ["responses", "tiny"],
  ])("in the dialect %s, of %s events", (lane, events) => expectLittle(lane, `plain/${events}`), 60_000);

  test.skipIf(!tls).each<[keyof typeof LANES, string]>([
    ["chat", "tiny"],
    ["messages", "usual"],
  ])("in the dialect %s, of %s events over TLS", (lane, events) => expectLittle(lane, `secure/${events}`), 60_000);

  async function expectLittle(lane: keyof typeof LANES, model: string): Promise<void> {
    await stalled(LANES[lane], model);
    await still();
    // The first has loaded and made what all of them share.
    const before = await held();
    for (let i = 0; i < CLIENTS; i++) await stalled(LANES[lane], model);
    await still();
    expect(((await held()) - before) / CLIENTS / KIB).toBeLessThan(256);
  }
});
