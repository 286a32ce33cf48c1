import type { CallRecord } from '../evidence.ts';
import type { Case } from './case.ts';
import { isCanceled, isCanceledByFloor } from './operations.ts';

/**
 * Which devices are activated, according to the responses: by an activation since the last deactivation whose
 * transaction was not canceled. A canceled activation is undone, except by a reset (ADR 0063).
 */
export class Activations {
  readonly #case: Case;
  /** By application and device: transactions since the last deactivation. */
  readonly #since = new Map<string, number[]>();

  constructor(c: Case) {
    this.#case = c;
  }

  /** Adds a call; calls must come in their order. */
  add({ kind, status, applicationId, deviceId, transactionId }: CallRecord): void {
    if (status !== 201 || !deviceId) return;
    const name = `${applicationId} ${deviceId}`;
    if (kind === 'activate') this.#since.set(name, [...(this.#since.get(name) ?? []), transactionId ?? 0]);
    if (kind === 'deactivate') this.#since.delete(name);
  }

  /** Whether the device is activated after the calls that were added. */
  stand(applicationId: string, deviceId: string): boolean {
    const ids = this.#since.get(`${applicationId} ${deviceId}`) ?? [];
    return ids.some((id) => {
      const end = this.#case.ends.get(id);
      return end === undefined || !isCanceled(end) || isCanceledByFloor(end);
    });
  }
}
