import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";

/** SHA-256, or HMAC with it, in the shape that AWS's request signer takes. */
export class Sha256 {
  readonly #secret: Uint8Array | null;
  #state: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#secret = secret === undefined ? null : bytesOf(secret);
    this.#state = this.#begin();
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#state.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#state.digest();
  }

  reset(): void {
    this.#state = this.#begin();
  }

  #begin(): Hash | Hmac {
    return this.#secret === null ? createHash("sha256") : createHmac("sha256", this.#secret);
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === "string") return Buffer.from(data, "utf8");
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
