import { setPriority } from 'node:os';
import { checkFile, type Declared } from './check-file.ts';
import { fileHandle, type Told } from './messages.ts';

/** The process in which one uploaded file is checked (check-process.ts). */
const tell = (told: Told) => new Promise<void>((done) => process.send?.(told, () => done()));

// Whoever asked is gone.
process.once('disconnect', () => process.exit());
// The service's own work comes first.
setPriority(10);
await tell({ kind: 'begun' });
try {
  const verdict = await checkFile(fileHandle, JSON.parse(process.argv[2] ?? '') as Declared);
  await tell({ kind: 'verdict', verdict, peakBytes: process.resourceUsage().maxRSS * 1024 });
} catch (error) {
  await tell({ kind: 'failed', reason: (error as Error).message });
}
process.exit();
