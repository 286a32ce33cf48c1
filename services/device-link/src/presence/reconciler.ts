import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { SessionDirectory } from '../ports.ts';
import type { Session } from '../session/session.ts';
import type { SessionHub } from './hub.ts';

/** Maximum number of sessions that one call reconciles. */
const maxSessionsPerCall = 200;

export interface ReconcilerDeps {
  readonly hub: SessionHub;
  readonly directory: SessionDirectory;
  readonly logger: Logger;
  /** The monotonic clock; milliseconds. */
  readonly monotonicNowMs: () => number;
  /** How often a session is reconciled; milliseconds. */
  readonly everyMs: number;
}

/**
 * Reconciles each open session periodically, and all sessions after this instance's lease has expired (rule B5), so
 * that transactions that could not be dispatched do not wait for a reconnect. Closes sessions that the directory does
 * not contain.
 */
export class Reconciler {
  readonly #deps: ReconcilerDeps;
  #running = false;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
  }

  /** Makes all sessions due, because other instances treated the headsets as offline while the lease had expired. */
  makeAllDue(): void {
    for (const session of this.#deps.hub.all()) session.makeReconciliationDue();
  }

  /** Reconciles sessions that are due; called about every second. */
  async reconcileDue(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      await this.#reconcileSome();
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'sessions could not be reconciled, retrying');
    } finally {
      this.#running = false;
    }
  }

  async #reconcileSome(): Promise<void> {
    const { hub, directory, everyMs } = this.#deps;
    const before = this.#deps.monotonicNowMs() - everyMs;
    const due: Session[] = [];
    for (const session of hub.all()) {
      if (session.online && session.reconciledAtMs <= before) due.push(session);
      if (due.length === maxSessionsPerCall) break;
    }
    if (due.length === 0) return;
    const holders = await directory.holders(due.map((session) => session.deviceId));
    for (const session of due) {
      const holder = holders.get(session.deviceId);
      if (holder?.instanceId === directory.instanceId && holder.epoch === session.epoch) {
        void session.reconcile();
      } else if (!session.ended) {
        hub.closeUnlisted(session, holder?.epoch);
      }
    }
  }
}
