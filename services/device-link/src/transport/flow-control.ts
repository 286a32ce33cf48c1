import type { MessageShape } from '@bufbuild/protobuf';
import type { ConnectResponseSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import type { LinkCall } from './wire.ts';

/**
 * Reason to pause reading:
 * - `begin`: the session has not begun;
 * - `peer`: the headset does not read;
 * - `log`: too many reports wait for the log;
 * - `grants`: the maximum number of start grants is requested;
 * - `drain`: the instance stops;
 * - `readies`: too many readies wait for the first reconciliation.
 */
export type Stall = 'begin' | 'peer' | 'log' | 'grants' | 'drain' | 'readies';

/** Flow control of one stream in both directions: reading pauses while the headset or the cloud cannot keep up. */
export class FlowControl {
  readonly #call: LinkCall;
  readonly #clock: Clock;
  readonly #stalls = new Set<Stall>(['begin']);
  /** When the headset stopped reading, by the monotonic clock; undefined while the headset reads. */
  #blockedSinceMs: number | undefined;
  /**
   * Since when the cloud has not paused reading for its own reasons, by the monotonic clock; undefined during a pause.
   */
  #listeningSinceMs: number | undefined;
  #released = false;

  constructor(call: LinkCall, clock: Clock) {
    this.#call = call;
    this.#clock = clock;
  }

  /** True while the headset does not read: messages that can wait are not written. */
  get blocked(): boolean {
    return this.#blockedSinceMs !== undefined;
  }

  /** True if the headset has not read since that time or longer; milliseconds of the monotonic clock. */
  blockedSince(atMs: number): boolean {
    return this.#blockedSinceMs !== undefined && this.#blockedSinceMs <= atMs;
  }

  /**
   * True if the cloud has not paused reading for its own reasons since that time, so that only the headset can be
   * the cause of a silence. Milliseconds of the monotonic clock.
   */
  listeningSince(atMs: number): boolean {
    return this.#listeningSinceMs !== undefined && this.#listeningSinceMs <= atMs;
  }

  /** Prepares writing; calls `drained` each time the headset reads again after it was blocked. */
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

  /** Begins to read, unless reading is paused for another reason. */
  read(): void {
    this.stall('begin', false);
  }

  /** Sets or clears one reason to pause reading; the stream is read while no reason is set. */
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

  /** Reads and discards further data of the headset, so that the stream can end. */
  release(): void {
    this.#released = true;
    this.#call.removeAllListeners('data');
    this.#call.resume();
  }
}
