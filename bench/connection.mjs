import { connect } from "node:net";

/** One read buffer for all connections: every read is used up before the next one. */
const shared = Buffer.allocUnsafeSlow(256 * 1024);
const HEAD_BYTES_MAX = 64 * 1024;
const EMPTY = Buffer.alloc(0);

/**
 * A keep-alive HTTP/1.1 client connection that does as little as it can: sends bytes made beforehand and reads one
 * response at a time, of fixed length or chunked. Any surprise rejects the request that runs.
 */
export class Connection {
  #socket;
  #head = EMPTY;
  #state = "head";
  #left = 0;
  #line = "";
  #status = 0;
  #bytes = 0;
  #onBody = null;
  #done = null;
  #failed = null;

  /** Connects to 127.0.0.1; rejects when nobody listens. */
  static open(port) {
    return new Promise((resolve, reject) => {
      const connection = new Connection();
      const onread = { buffer: shared, callback: (length, buffer) => connection.#read(buffer, length) };
      const socket = connect({ port, host: "127.0.0.1", noDelay: true, onread });
      connection.#socket = socket;
      socket.once("connect", () => resolve(connection));
      socket.on("error", (error) => {
        reject(error);
        connection.#fail(error);
      });
      socket.on("close", () => connection.#fail(new Error("the connection was closed")));
    });
  }

  /**
   * Sends `bytes` and calls `done(null, status, bodyBytes)` or `done(error)`. `onBody` sees each piece of the body,
   * which it must not keep.
   */
  send(bytes, done, onBody = null) {
    this.#done = done;
    this.#onBody = onBody;
    this.#bytes = 0;
    if (this.#failed) this.#fail(this.#failed);
    else this.#socket.write(bytes);
  }

  close() {
    this.#done = null;
    this.#socket.destroy();
  }

  #fail(error) {
    this.#failed ??= error;
    const done = this.#done;
    this.#done = null;
    done?.(error);
  }

  #read(buffer, length) {
    let at = 0;
    let bytes = buffer;
    let end = length;
    if (this.#head.length > 0) {
      bytes = Buffer.concat([this.#head, buffer.subarray(0, length)]);
      end = bytes.length;
      this.#head = EMPTY;
    }
    while (at < end && !this.#failed) {
      if (this.#state === "head") at = this.#readHead(bytes, at, end);
      else if (this.#state === "fixed" || this.#state === "chunk") at = this.#readBody(bytes, at, end);
      else at = this.#readLine(bytes, at, end);
    }
    return true;
  }

  #readHead(bytes, at, end) {
    const stop = bytes.indexOf("\r\n\r\n", at, "latin1");
    if (stop < 0 || stop + 4 > end) {
      this.#head = Buffer.from(bytes.subarray(at, end));
      if (end - at > HEAD_BYTES_MAX) this.#fail(new Error("the response head is too long"));
      return end;
    }
    const head = bytes.latin1Slice(at, stop);
    this.#status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length) {
      this.#left = Number(length[1]);
      this.#state = "fixed";
      if (this.#left === 0) this.#complete();
    } else if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      this.#state = "size";
    } else {
      this.#fail(new Error(`a response of unknown length: ${head.slice(0, 200)}`));
    }
    return stop + 4;
  }

  #readBody(bytes, at, end) {
    const taken = Math.min(this.#left, end - at);
    this.#left -= taken;
    this.#bytes += taken;
    this.#onBody?.(bytes, at, at + taken);
    if (this.#left === 0) {
      if (this.#state === "fixed") this.#complete();
      else this.#state = "chunk end";
    }
    return at + taken;
  }

  /** The lines of chunked encoding: sizes, the empty ones after chunks, trailers. */
  #readLine(bytes, at, end) {
    const stop = bytes.indexOf(10, at);
    if (stop < 0 || stop >= end) {
      this.#line += bytes.latin1Slice(at, end);
      return end;
    }
    const line = (this.#line + bytes.latin1Slice(at, stop)).trim();
    this.#line = "";
    if (this.#state === "chunk end") this.#state = "size";
    else if (this.#state === "trailer") {
      if (line === "") this.#complete();
    } else {
      this.#left = Number.parseInt(line, 16);
      if (Number.isNaN(this.#left)) this.#fail(new Error(`not a chunk size: ${line.slice(0, 40)}`));
      this.#state = this.#left === 0 ? "trailer" : "chunk";
    }
    return stop + 1;
  }

  #complete() {
    this.#state = "head";
    const done = this.#done;
    this.#done = null;
    done?.(null, this.#status, this.#bytes);
  }
}

/** The bytes of a POST with a JSON body. */
export function requestBytes({ port, path, headers, body }) {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    "content-type: application/json",
    "accept: */*",
    "user-agent: sluicegate-bench",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}
