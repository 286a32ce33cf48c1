import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

const preface = 24;
const frameHeader = 9;
const pingType = 6;
const ackFlag = 1;

/** Forwards the bytes of one connection, counts pings, and can stop forwarding without a close. */
export class Gate extends Duplex {
  /** Number of the headset's HTTP/2 PING frames, without answers. */
  pings = 0;
  /** Number of the headset's answers to the cloud's pings. */
  pingAnswers = 0;
  #frozen = false;
  #toSkip = preface;
  #header: number[] = [];
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (data: Buffer) => {
      if (this.#frozen) return;
      this.#scan(data);
      if (!this.push(data)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.destroy());
  }

  /** Stops forwarding bytes in both directions. The connection stays open. */
  freeze(): void {
    this.#frozen = true;
    this.#socket.resume();
  }

  /** Resets the connection. */
  cut(): void {
    this.#socket.resetAndDestroy();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(data: Buffer, _: string, done: (error?: Error | null) => void): void {
    if (this.#frozen || this.#socket.destroyed) done();
    else this.#socket.write(data, () => done());
  }

  override _final(done: () => void): void {
    if (!this.#frozen) this.#socket.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  /** Parses the headset's HTTP/2 frames: a header of nine bytes contains the length of the rest. */
  #scan(data: Buffer): void {
    let at = 0;
    while (at < data.length) {
      if (this.#toSkip > 0) {
        const skipped = Math.min(this.#toSkip, data.length - at);
        this.#toSkip -= skipped;
        at += skipped;
        continue;
      }
      this.#header.push(data[at] ?? 0);
      at += 1;
      if (this.#header.length < frameHeader) continue;
      const [high = 0, middle = 0, low = 0, type, flags = 0] = this.#header;
      this.#header = [];
      this.#toSkip = high * 65_536 + middle * 256 + low;
      if (type !== pingType) continue;
      if (flags & ackFlag) this.pingAnswers += 1;
      else this.pings += 1;
    }
  }
}
