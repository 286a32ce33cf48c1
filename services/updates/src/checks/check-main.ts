import { readFileSync } from 'node:fs';
import { checkFile, type Declared } from './check-file.ts';
import { type CheckMessage, fileHandle } from './messages.ts';

/** Checks one uploaded file in this process, which check-process.ts starts. */
const send = (message: CheckMessage) => new Promise<void>((done) => process.send?.(message, () => done()));

/**
 * Peak memory of this process in bytes; 0 if the system does not report it. getrusage also counts the parent's memory.
 */
function peakBytes(): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

// The parent process has ended.
process.once('disconnect', () => process.exit());
await send({ kind: 'begun' });
try {
  const verdict = await checkFile(fileHandle, JSON.parse(process.argv[2] ?? '') as Declared);
  await send({ kind: 'verdict', verdict, peakBytes: peakBytes() });
} catch (error) {
  await send({ kind: 'failed', reason: (error as Error).message });
}
process.exit();
