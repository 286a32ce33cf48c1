import fs, { existsSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Loaded before a process (`--import`). While the file HELD_DISK_FILE exists, syncs to disk wait. They continue after
 * the file is removed. The file HELD_DISK_FILE.asked shows that a sync waits.
 */
const file = process.env['HELD_DISK_FILE'];
const lookMs = 5;

if (file) {
  const { fdatasync } = fs;
  const held: Parameters<typeof fdatasync>[] = [];
  let looking: NodeJS.Timeout | undefined;
  const look = () => {
    if (existsSync(file)) {
      // Create it also for a sync that was requested just before HELD_DISK_FILE was created again.
      writeFileSync(`${file}.asked`, '');
      return;
    }
    clearInterval(looking);
    looking = undefined;
    for (const asked of held.splice(0)) fdatasync(...asked);
  };
  Object.assign(fs, {
    fdatasync(...asked: Parameters<typeof fdatasync>) {
      if (!looking && !existsSync(file)) return fdatasync(...asked);
      held.push(asked);
      writeFileSync(`${file}.asked`, '');
      looking ??= setInterval(look, lookMs);
    },
  });
  syncBuiltinESMExports();
}
