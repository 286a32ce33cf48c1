import type { MessageShape } from '@bufbuild/protobuf';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { ConnectResponseSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { LinkCall } from './wire.ts';

/**
 * Why the stream is not read for the moment: the headset takes nothing; the log is behind; permits are asked
 * for; the server drains; readies wait for the session's judgement.
 */
export type Stall = 'peer' | 'log' | 'permits' | 'drain' | 'readies';

/** Flow control of a headset's stream, in both directions: who is slow makes the other side wait. */
export class Flow {
  readonly #call: LinkCall;
  readonly #clock: Clock;
  readonly #stalls = new Set<Stall>();
  /** Since when the peer takes nothing; 0 when it does. */
  #blockedSinceMs = 0;
  #released = false;

  constructor(call: LinkCall, clock: Clock) {
    this.#call = call;
    this.#clock = clock;
  }

  /** The headset takes nothing: what can wait is not written. */
  get blocked(): boolean {
    return this.#blockedSinceMs > 0;
  }

  /** It has taken nothing since that time or longer; milliseconds since 1970. */
  blockedSince(atMs: number): boolean {
    return this.blocked && this.#blockedSinceMs <= atMs;
  }

  /** Begins; `drained` is called each time the headset takes messages again. */
  open(drained: () => void): void {
    this.#call.on('drain', () => {
      this.#blockedSinceMs = 0;
      this.stall('peer', false);
      drained();
    });
  }

  write(message: MessageShape<typeof ConnectResponseSchema>): void {
    if (this.#call.write(message) || this.blocked) return;
    this.#blockedSinceMs = this.#clock.now();
    this.stall('peer', true);
  }

  /** Sets or lifts one reason not to read; the stream is read when there is none. */
  stall(reason: Stall, on: boolean): void {
    const before = this.#stalls.size;
    if (on) this.#stalls.add(reason);
    else this.#stalls.delete(reason);
    if (this.#released || (before === 0) === (this.#stalls.size === 0)) return;
    if (this.#stalls.size === 0) this.#call.resume();
    else this.#call.pause();
  }

  /** What the peer still sends is read and thrown away, so that the stream can end. */
  release(): void {
    this.#released = true;
    this.#call.removeAllListeners('data');
    this.#call.resume();
  }
}
