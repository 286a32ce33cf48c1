import { readFileSync } from 'node:fs';
import { checkFile, type Declared } from './check-file.ts';
import { fileHandle, type Told } from './messages.ts';

/** In this process one uploaded file is checked; check-process.ts starts it. */
const tell = (told: Told) => new Promise<void>((done) => process.send?.(told, () => done()));

/** The largest memory that this process had; 0 where the system does not tell. getrusage counts its parent's, too. */
function peakBytes(): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

// Whoever asked is gone.
process.once('disconnect', () => process.exit());
await tell({ kind: 'begun' });
try {
  const verdict = await checkFile(fileHandle, JSON.parse(process.argv[2] ?? '') as Declared);
  await tell({ kind: 'verdict', verdict, peakBytes: peakBytes() });
} catch (error) {
  await tell({ kind: 'failed', reason: (error as Error).message });
}
process.exit();
