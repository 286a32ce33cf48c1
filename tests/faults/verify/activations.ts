import type { CallRecord } from '../evidence.ts';
import type { IndexedEvidence } from './indexed-evidence.ts';
import { isCanceled, isCanceledByDeactivation } from './operations.ts';

/**
 * Tracks which devices are activated according to the responses. A device is activated if an activation since the last
 * deactivation was not canceled. Cancellation undoes an activation, except cancellation by a reset (ADR 0063).
 */
export class Activations {
  readonly #case: IndexedEvidence;
  /** Activation transactions since the last deactivation, by application and device. */
  readonly #since = new Map<string, number[]>();

  constructor(c: IndexedEvidence) {
    this.#case = c;
  }

  /** Adds a call. Calls must be added in their order. */
  add({ kind, status, applicationId, deviceId, transactionId }: CallRecord): void {
    if (status !== 201 || !deviceId) return;
    const name = `${applicationId} ${deviceId}`;
    if (kind === 'activate') this.#since.set(name, [...(this.#since.get(name) ?? []), transactionId ?? 0]);
    if (kind === 'deactivate') this.#since.delete(name);
  }

  /** Whether the device is activated after the added calls. */
  stand(applicationId: string, deviceId: string): boolean {
    const ids = this.#since.get(`${applicationId} ${deviceId}`) ?? [];
    return ids.some((id) => {
      const end = this.#case.ends.get(id);
      return end === undefined || !isCanceled(end) || isCanceledByDeactivation(end);
    });
  }
}
