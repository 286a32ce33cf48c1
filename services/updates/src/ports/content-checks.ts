import type { Declared, Verdict } from '../checks/check-file.ts';
import type { LocalCopy } from './local-copy.ts';

/** Checks the content of uploaded files in separate processes, a few at a time (ADR 0042). */
export interface ContentChecks {
  /**
   * Fetches a file and checks it. Returns undefined if too many files wait already, of all developers or of this
   * developer. Throws if the file cannot be fetched or read. Throws `unavailable` when the service stops.
   */
  check(
    developerId: string,
    declared: Declared,
    fetch: (signal: AbortSignal) => Promise<LocalCopy>,
  ): Promise<Verdict | undefined>;
}
