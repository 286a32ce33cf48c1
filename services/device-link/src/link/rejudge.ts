import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { SessionDirectory } from '../ports.ts';
import type { SessionHub } from './hub.ts';
import type { Session } from './session.ts';

/** Most sessions that one turn looks at. */
const mostAtOnce = 200;

export interface RejudgeDeps {
  readonly hub: SessionHub;
  readonly directory: SessionDirectory;
  readonly logger: Logger;
  readonly monotonic: () => number;
  /** How often a session is judged again; milliseconds. */
  readonly everyMs: number;
}

/**
 * Has the sessions judged again, slowly, and at once after this instance's lease lapsed (rule B5):
 * what was taken for undeliverable meanwhile is found, and nothing waits for a reconnect. Sessions
 * that the directory no longer names are closed first.
 */
export class Rejudge {
  readonly #deps: RejudgeDeps;
  #running = false;

  constructor(deps: RejudgeDeps) {
    this.#deps = deps;
  }

  /** All sessions are due: while the lease had lapsed, other instances took the headsets for away. */
  all(): void {
    for (const session of this.#deps.hub.all()) session.judgementDue();
  }

  /** Called about every second. */
  async turn(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      await this.#judgeDue();
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'sessions could not be judged again; the next turn tries');
    } finally {
      this.#running = false;
    }
  }

  async #judgeDue(): Promise<void> {
    const { hub, directory, everyMs } = this.#deps;
    const before = this.#deps.monotonic() - everyMs;
    const due: Session[] = [];
    for (const session of hub.all()) {
      if (session.online && session.judgedAtMs <= before) due.push(session);
      if (due.length === mostAtOnce) break;
    }
    if (due.length === 0) return;
    const holders = await directory.holders(due.map((session) => session.deviceId));
    for (const session of due) {
      const holder = holders.get(session.deviceId);
      if (holder?.instanceId === directory.instanceId && holder.epoch === session.epoch) {
        void session.judgeAgain();
      } else if (!session.ended) {
        hub.disown(session, holder?.epoch);
      }
    }
  }
}
