import { type IncomingMessage, ServerResponse } from "node:http";

/**
 * A response that can also be sent whole: head and body as one text, straight to the socket, past the pieces, corks and
 * callbacks of a response that may yet have more to say. node is told by "finish", on which it does all that it does after an
 * answer (docs/decisions/012).
 */
export class WholeResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  #committed = false;
  #out = false;

  static {
    // TypeScript has them for properties, which no accessor may take the place of.
    Object.defineProperty(WholeResponse.prototype, "headersSent", {
      configurable: true,
      get(this: WholeResponse): boolean {
        return this.#committed || Reflect.get(ServerResponse.prototype, "headersSent", this);
      },
    });
    Object.defineProperty(WholeResponse.prototype, "writableFinished", {
      configurable: true,
      get(this: WholeResponse): boolean {
        return this.#out || Reflect.get(ServerResponse.prototype, "writableFinished", this);
      },
    });
  }

  /** There is an answer, which will be written: from now on it counts as sent, as one does whose head node holds back. */
  commit(): void {
    this.#committed = true;
  }

  /**
   * Writes `text`, of Latin-1: head and body of an answer after which the connection goes on. False, and nothing is written,
   * where the answer has to wait for its turn or for earlier bytes, where it has become the connection's last one, or where
   * node would not hear that it is out.
   */
  writeWhole(text: string): boolean {
    const { socket } = this;
    if (!socket?.writable || socket.writableCorked > 0 || this.writableLength > 0) return false;
    if (!this.shouldKeepAlive || this.listenerCount("finish") === 0) return false;
    socket.write(text, "latin1");
    // What the kernel has not taken yet is waited for, as `end` does; of a write that failed, "close" tells.
    if (socket.writableLength > 0) socket.write("", "latin1", (error) => error || this.#finish());
    else if (socket.writable) this.#finish();
    return true;
  }

  #finish(): void {
    this.#out = true;
    this.emit("finish");
  }
}
