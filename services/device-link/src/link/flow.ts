import type { MessageShape } from '@bufbuild/protobuf';
import type { ConnectResponseSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import type { LinkCall } from './wire.ts';

/**
 * Why the stream is not read for the moment: the session has not begun; the headset takes nothing; the log is
 * behind; permits are asked for; the server drains; readies wait for the session's judgement.
 */
export type Stall = 'begin' | 'peer' | 'log' | 'permits' | 'drain' | 'readies';

/** Flow control of a headset's stream, in both directions: who is slow makes the other side wait. */
export class Flow {
  readonly #call: LinkCall;
  readonly #clock: Clock;
  readonly #stalls = new Set<Stall>(['begin']);
  /** Since when the peer takes nothing, by the monotonic clock; undefined when it does. */
  #blockedSinceMs: number | undefined;
  /** Since when no reason of the cloud's own keeps the stream from being read; undefined when one does. */
  #listeningSinceMs: number | undefined;
  #released = false;

  constructor(call: LinkCall, clock: Clock) {
    this.#call = call;
    this.#clock = clock;
  }

  /** The headset takes nothing: what can wait is not written. */
  get blocked(): boolean {
    return this.#blockedSinceMs !== undefined;
  }

  /** It has taken nothing since that time or longer; milliseconds of the monotonic clock. */
  blockedSince(atMs: number): boolean {
    return this.#blockedSinceMs !== undefined && this.#blockedSinceMs <= atMs;
  }

  /**
   * True if the cloud has not paused reading for a reason of its own since that time: then a silence comes from
   * the headset. Milliseconds of the monotonic clock.
   */
  listeningSince(atMs: number): boolean {
    return this.#listeningSinceMs !== undefined && this.#listeningSinceMs <= atMs;
  }

  /** Begins to write; `drained` is called each time the headset takes messages again. */
  open(drained: () => void): void {
    this.#call.on('drain', () => {
      this.#blockedSinceMs = undefined;
      this.stall('peer', false);
      drained();
    });
  }

  write(message: MessageShape<typeof ConnectResponseSchema>): void {
    if (this.#call.write(message) || this.blocked) return;
    this.#blockedSinceMs = monotonicMs(this.#clock);
    this.stall('peer', true);
  }

  /** Begins to read, unless there is another reason not to. */
  read(): void {
    this.stall('begin', false);
  }

  /** Sets or lifts one reason not to read; the stream is read when there is none. */
  stall(reason: Stall, on: boolean): void {
    const before = this.#stalls.size;
    if (on) this.#stalls.add(reason);
    else this.#stalls.delete(reason);
    const listening = this.#stalls.size === 0 || (this.#stalls.size === 1 && this.#stalls.has('peer'));
    if (!listening) this.#listeningSinceMs = undefined;
    else this.#listeningSinceMs ??= monotonicMs(this.#clock);
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
