import type { Declared, Verdict } from '../checks/check-file.ts';
import type { LocalCopy } from './local-copy.ts';

/** Checks of uploaded files: outside this process, a few at a time (ADR 0042). */
export interface ContentChecks {
  /**
   * Fetches a file and checks it. Undefined: too many files wait already, in all or of this developer. Throws when the
   * file cannot be fetched or read, and `unavailable` when the service stops.
   */
  check(
    developerId: string,
    declared: Declared,
    fetch: (signal: AbortSignal) => Promise<LocalCopy>,
  ): Promise<Verdict | undefined>;
}
