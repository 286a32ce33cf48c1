import { join } from 'node:path';
import { databaseFile } from '../database.ts';
import { WalSync } from '../wal-sync.ts';

/** The disk of an embedded database, as it is until a test holds it up. */
export interface Disk {
  /** For `openEmbeddedDatabase`. */
  readonly walSync: Pick<WalSync, 'sync' | 'close'>;
  /** From now on nothing becomes durable. */
  hold(): void;
  /** What has waited goes to the disk now, and what comes at once. */
  release(): void;
  /** How often it was asked since it was held. */
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
