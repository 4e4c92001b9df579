// The least that a proxy on node:http can be: node's server, a client on node:net with kept-alive connections and one read
// buffer, both bodies parsed, nothing decided, nothing kept. What a gateway does is what it takes beyond this.
// Arguments: its port, the upstream's port.
import { createServer } from "node:http";
import { connect } from "node:net";

const [port, upstreamPort] = process.argv.slice(2).map(Number);
const idle = [];
const shared = Buffer.allocUnsafeSlow(256 * 1024);

/** A connection to the upstream. Answers must have a content-length. */
class Connection {
  #parts = [];
  #left = -1;
  #answered = null;
  #socket = connect({
    port: upstreamPort,
    host: "127.0.0.1",
    noDelay: true,
    onread: { buffer: shared, callback: (count) => this.#read(count) },
  });

  ask(text, answered) {
    this.#answered = answered;
    this.#socket.write(text, "latin1");
  }

  #read(count) {
    let from = 0;
    if (this.#left < 0) {
      from = shared.indexOf("\r\n\r\n") + 4;
      this.#left = Number(/content-length: *(\d+)/i.exec(shared.latin1Slice(0, from))[1]);
    }
    this.#parts.push(shared.latin1Slice(from, count));
    this.#left -= count - from;
    if (this.#left > 0) return true;
    const body = this.#parts.join("");
    this.#parts = [];
    this.#left = -1;
    idle.push(this);
    this.#answered(body);
    return true;
  }
}

const server = createServer({ noDelay: true, keepAliveTimeout: 75_000 }, (request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const bytes = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    const body = bytes.latin1Slice();
    JSON.parse(body);
    const connection = idle.pop() ?? new Connection();
    const head = `POST ${request.url} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n`;
    connection.ask(head + body, (answer) => {
      JSON.parse(answer);
      response.writeHead(200, ["content-type", "application/json", "content-length", String(answer.length)]);
      response.end(answer, "latin1");
    });
  });
});
server.listen(port, "127.0.0.1");
