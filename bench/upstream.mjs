// The upstream behind every proxy: answers chat requests with fixed bytes, as cheaply as node:net allows, so that it is
// not what is measured. A child process of run.mjs; says its port and, on demand, its counts over IPC.
import { createServer } from "node:net";
import { answerBody, failsAsAsked, paceOf, streamEvents } from "./payloads.mjs";

const STREAM_EVENTS_MAX = 100_000;
const BODY_START_BYTES = 400;

const counts = { requests: 0, bodyBytes: 0, streams: 0, events: 0, openStreams: 0 };
const answer = fixedAnswer();
const failure = Buffer.from(
  "HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
);
const refusal = Buffer.from("HTTP/1.1 411 Length Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
const pacers = new Map();
const eventBuffers = new Map();

const server = createServer({ noDelay: true }, (socket) => {
  const state = { pending: null, needed: 0, start: "", stream: null };
  socket.on("data", (data) => read(socket, state, data));
  socket.on("error", () => socket.destroy());
  socket.on("close", () => endStream(state));
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("message", ({ id }) => process.send({ id, counts }));
process.on("disconnect", () => process.exit(0));

/** Takes requests off a connection; those of one connection come one after the other. */
function read(socket, state, data) {
  let bytes = state.pending ? Buffer.concat([state.pending, data]) : data;
  state.pending = null;
  while (bytes.length > 0) {
    if (state.needed === 0) {
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0) {
        state.pending = bytes;
        return;
      }
      const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.latin1Slice(0, end));
      if (!length) {
        socket.end(refusal);
        return;
      }
      state.needed = Number(length[1]);
      state.start = "";
      bytes = bytes.subarray(end + 4);
      counts.requests += 1;
      counts.bodyBytes += state.needed;
    }
    if (state.start.length < BODY_START_BYTES) state.start += bytes.latin1Slice(0, BODY_START_BYTES);
    const taken = Math.min(state.needed, bytes.length);
    state.needed -= taken;
    bytes = bytes.subarray(taken);
    if (state.needed === 0) respond(socket, state);
  }
}

function respond(socket, state) {
  if (failsAsAsked(state.start)) {
    socket.write(failure);
    return;
  }
  const pace = paceOf(state.start);
  if (!pace) {
    socket.write(answer);
    return;
  }
  const events = Math.min(pace.events, STREAM_EVENTS_MAX);
  counts.streams += 1;
  counts.openStreams += 1;
  state.stream = { socket, buffers: buffersOf(events), next: 0, slot: null };
  socket.write(
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n" +
      "x-request-id: req_bench\r\ntransfer-encoding: chunked\r\n\r\n",
  );
  pacerOf(pace.intervalMs).add(state.stream);
}

function endStream(state) {
  if (!state.stream?.slot) return;
  state.stream.slot.delete(state.stream);
  state.stream.slot = null;
  counts.openStreams -= 1;
}

/**
 * Streams of one interval, spread evenly over its milliseconds, so that their events do not come at the same moment. A
 * stream never gets two events at once: when the timer is late, everything is.
 */
function makePacer(intervalMs) {
  const slots = Array.from({ length: intervalMs }, () => new Set());
  let added = 0;
  let at = 0;
  let last = 0;
  let timer = null;
  const tick = () => {
    const due = Math.floor(performance.now() - last);
    last += due;
    for (let i = 0; i < Math.min(due, intervalMs); i++) {
      at = (at + 1) % intervalMs;
      for (const stream of slots[at]) writeNext(stream);
    }
    if (slots.some((slot) => slot.size > 0)) return;
    clearInterval(timer);
    timer = null;
  };
  return {
    add(stream) {
      stream.slot = slots[added % intervalMs];
      stream.slot.add(stream);
      added += 1;
      if (timer) return;
      last = performance.now();
      timer = setInterval(tick, 1);
    },
  };
}

function writeNext(stream) {
  counts.events += 1;
  stream.socket.write(stream.buffers[stream.next]);
  stream.next += 1;
  if (stream.next < stream.buffers.length) return;
  stream.slot.delete(stream);
  stream.slot = null;
  counts.openStreams -= 1;
}

function pacerOf(intervalMs) {
  if (!pacers.has(intervalMs)) pacers.set(intervalMs, makePacer(intervalMs));
  return pacers.get(intervalMs);
}

/** One chunk of chunked encoding an event; the last has the end of the body with it. */
function buffersOf(events) {
  if (!eventBuffers.has(events)) {
    const buffers = streamEvents(events).map((event) => {
      const size = Buffer.byteLength(event).toString(16);
      return Buffer.from(`${size}\r\n${event}\r\n`);
    });
    buffers.push(Buffer.concat([buffers.pop(), Buffer.from("0\r\n\r\n")]));
    eventBuffers.set(events, buffers);
  }
  return eventBuffers.get(events);
}

function fixedAnswer() {
  const body = answerBody();
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_bench\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
