import { type IncomingHttpHeaders, IncomingMessage } from "node:http";
import { RequestHeaders } from "./request-headers.ts";

/** Who takes a request's body, piece by piece. After `end` or `error` nothing more is told. */
export interface BodySink {
  data(chunk: Buffer): void;
  end(): void;
  /** The connection is gone, and the body is not whole. */
  error(): void;
}

/**
 * A request whose body may be had without the stream that it is: node's parser hands each piece to `push`, which hands it on
 * at once. The buffering, flowing, ending and destroying of a stream cost more than the piece. Everything else, and everyone
 * else who reads, has the stream as ever.
 */
export class ServerRequest extends IncomingMessage {
  #sink: BodySink | null = null;
  #taken = false;
  /** The body went to its sink whole: the stream, which never saw it, has nothing to end. */
  #over = false;

  #headers: IncomingHttpHeaders | null = null;

  static {
    // TypeScript has them for properties, which no accessor may take the place of.
    Object.defineProperty(ServerRequest.prototype, "headers", {
      configurable: true,
      get(this: ServerRequest): IncomingHttpHeaders {
        this.#headers ??= this.readHeaders();
        return this.#headers;
      },
      set(this: ServerRequest, headers: IncomingHttpHeaders) {
        this.#headers = headers;
      },
    });
    Object.defineProperty(ServerRequest.prototype, "readableEnded", {
      configurable: true,
      get(this: ServerRequest): boolean {
        return this.#over || Reflect.get(IncomingMessage.prototype, "readableEnded", this);
      },
    });
  }

  /** Whether somebody has begun to take the body past the stream. */
  get bodyTaken(): boolean {
    return this.#taken;
  }

  /** From now on the body goes to `sink`. False: some of it is in the stream already, and has to be read there. */
  takeBody(sink: BodySink): boolean {
    if (this.#taken || this.complete || this.destroyed) return false;
    if (this.readableLength > 0 || this.readableFlowing !== null || this.readableDidRead) return false;
    this.#taken = true;
    this.#sink = sink;
    return true;
  }

  /** What comes after this goes to the stream. */
  leaveBody(): void {
    this.#sink = null;
  }

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    const sink = this.#sink;
    if (sink === null) return super.push(chunk, encoding);
    if (chunk === null) {
      this.#sink = null;
      this.#over = true;
      sink.end();
    } else sink.data(chunk);
    return true;
  }

  /** node has it flow at the end of an answer, to drop what nobody has read. */
  override resume(): this {
    return this.#over ? this : super.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const sink = this.#sink;
    this.#sink = null;
    super._destroy(error, callback);
    sink?.error();
  }

  protected readHeaders(): IncomingHttpHeaders {
    return Reflect.get(IncomingMessage.prototype, "headers", this);
  }
}

/** The class of a server's requests: they share what reads their headers. */
export function serverRequests(): typeof ServerRequest {
  const headers = new RequestHeaders();
  return class extends ServerRequest {
    protected override readHeaders(): IncomingHttpHeaders {
      return headers.read(this.rawHeaders);
    }
  };
}
