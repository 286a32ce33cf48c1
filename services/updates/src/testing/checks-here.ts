import { closeSync, openSync } from 'node:fs';
import { checkFile } from '../checks/check-file.ts';
import type { RunningContentChecks } from '../checks/content-checks.ts';

/**
 * Checks files in this process without queueing, for tests of the code before and after the check. A process start
 * would take longer than the rest of such a test.
 */
export const checksHere: RunningContentChecks = {
  running: () => 0,
  waiting: () => 0,
  stop: async () => {},
  async check(_developerId, declared, fetch) {
    const copy = await fetch(new AbortController().signal);
    const fd = openSync(copy.path, 'r');
    try {
      return await checkFile(fd, declared);
    } finally {
      closeSync(fd);
      await copy.dispose();
    }
  },
};
