import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { AttemptReason } from '../domain/attempt-reason.ts';
import type { HealthWatch } from '../scheduling/destination-health.ts';

/** Results of attempts since the last check for notices, by setting (`laneOf`). In memory only (ADR 0055). */
export class AttemptResults implements HealthWatch {
  /** First failure, and the last reason. */
  readonly failing = new Map<string, { readonly atMs: number; readonly reason: AttemptReason }>();
  /** Settings that have accepted a callback (true) or lost their URL (false). */
  readonly ended = new Map<string, boolean>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  failed(lane: string, reason: AttemptReason): void {
    const atMs = this.failing.get(lane)?.atMs ?? this.#clock.now();
    this.failing.set(lane, { atMs, reason });
  }

  delivered(lane: string): void {
    this.failing.delete(lane);
    this.ended.set(lane, true);
  }

  unset(lane: string): void {
    this.failing.delete(lane);
    if (!this.ended.has(lane)) this.ended.set(lane, false);
  }
}
