/** Returns a message in a gRPC frame: the flag 'not compressed', the length, the bytes. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}

/** Splits a byte stream into the messages of its gRPC frames. */
export class Unframer {
  #rest = Buffer.alloc(0);

  push(data: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, data]);
    const messages: Buffer[] = [];
    for (;;) {
      if (this.#rest.length < 5) return messages;
      const end = 5 + this.#rest.readUInt32BE(1);
      if (this.#rest.length < end) return messages;
      messages.push(this.#rest.subarray(5, end));
      this.#rest = this.#rest.subarray(end);
    }
  }
}
