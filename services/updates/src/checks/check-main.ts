import { readFileSync } from 'node:fs';
import { checkFile, type Declared } from './check-file.ts';
import { type CheckMessage, fileDescriptor } from './messages.ts';

// This script checks one uploaded file. check-process.ts starts it as a separate process.

const send = (message: CheckMessage) => new Promise<void>((done) => process.send?.(message, () => done()));

/**
 * Peak memory of this process in bytes; 0 if the system does not report it. Not read by getrusage, which includes the
 * memory of the parent process before the start.
 */
function peakBytes(): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

// The channel closes when the parent process ends.
process.once('disconnect', () => process.exit());
await send({ kind: 'begun' });
try {
  const verdict = await checkFile(fileDescriptor, JSON.parse(process.argv[2] ?? '') as Declared);
  await send({ kind: 'verdict', verdict, peakBytes: peakBytes() });
} catch (error) {
  await send({ kind: 'failed', reason: (error as Error).message });
}
process.exit();
