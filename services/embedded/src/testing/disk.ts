import { join } from 'node:path';
import { databaseFile } from '../database.ts';
import { WalSync } from '../wal-sync.ts';

/** The disk of an embedded database with syncs that a test can delay. */
export interface Disk {
  /** For `openEmbeddedDatabase`. */
  readonly walSync: Pick<WalSync, 'sync' | 'close'>;
  /** From now on syncs wait: nothing becomes durable. */
  hold(): void;
  /** Runs the syncs that wait, and from now on each one at once. */
  release(): void;
  /** Number of requested syncs since `hold`. */
  readonly asked: number;
}

export function diskOf(directory: string): Disk {
  const real = new WalSync(join(directory, databaseFile));
  let waiting: ((error: Error | null) => void)[] = [];
  let held = false;
  let asked = 0;
  return {
    walSync: {
      sync(done) {
        asked += 1;
        if (held) waiting.push(done);
        else real.sync(done);
      },
      close: () => real.close(),
    },
    hold() {
      held = true;
      asked = 0;
    },
    release() {
      held = false;
      const released = waiting;
      waiting = [];
      for (const done of released) real.sync(done);
    },
    get asked() {
      return asked;
    },
  };
}
