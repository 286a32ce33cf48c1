import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Rejection } from '../apk/bounds.ts';
import type { Declared, Verdict } from './check-file.ts';
import type { CheckMessage } from './messages.ts';

/** Heap of a checking process in MB. The largest allowed directory takes about half of it. */
const defaultHeapMb = 64;
/** Keeps the memory outside the heap small: one malloc arena, one thread that unpacks. */
const environment = { MALLOC_ARENA_MAX: '1', UV_THREADPOOL_SIZE: '1' };
const main = fileURLToPath(new URL('./check-main.ts', import.meta.url));
const project = join(dirname(main), '../../../..');
/** Files that a checking process may read: its code, and its own peak memory. */
const readablePaths = [join(project, 'services/updates'), join(project, 'node_modules'), '/proc/self/status'];

/** A finished check, with the peak memory of its process (0: not known). */
export interface FinishedCheck {
  readonly verdict: Verdict;
  readonly peakBytes: number;
}

/**
 * Checks a file in a separate process that can access only this file and its own code. The process has no environment,
 * no network, and no permission to write or to start programs. It is killed after `timeoutMs`. If the process times out
 * or crashes, the file is rejected (ADR 0042). Throws if the file cannot be read, if the process cannot start or is
 * killed by another process, and if the signal aborts.
 */
export async function checkInProcess(
  path: string,
  declared: Declared,
  options: { timeoutMs: number; signal: AbortSignal; heapMb?: number },
  time: Time = systemTime,
): Promise<FinishedCheck> {
  const { timeoutMs, signal, heapMb = defaultHeapMb } = options;
  const file = await open(path, 'r');
  let child: ChildProcess;
  try {
    signal.throwIfAborted();
    child = startProcess(argumentsOf(main, heapMb), declared, file.fd);
  } finally {
    await file.close();
  }
  let timedOut = false;
  const stop = () => child.kill('SIGKILL');
  const timer = time.setTimeout(() => {
    timedOut = true;
    stop();
  }, timeoutMs);
  signal.addEventListener('abort', stop);
  try {
    return await resultOf(child, { timeoutMs, signal, hasTimedOut: () => timedOut });
  } finally {
    time.clearTimer(timer);
    signal.removeEventListener('abort', stop);
  }
}

interface Limit {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly hasTimedOut: () => boolean;
}

/** Arguments of Node.js for a script: its heap size, and the permission to read only its own code. */
export function argumentsOf(script: string, heapMb = defaultHeapMb): string[] {
  const limits = [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=1'];
  const reads = readablePaths.map((path) => `--allow-fs-read=${path}`);
  return [...limits, '--permission', ...reads, script];
}

function startProcess(args: readonly string[], declared: Declared, fd: number): ChildProcess {
  return spawn(process.execPath, [...args, JSON.stringify(declared)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc', fd],
    env: environment,
  });
}

/** Signals of a crash that the process itself caused: faults, and V8's abort when the heap is full. */
const crashes: readonly unknown[] = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP'];
/** Maximum length of the error output that is kept; characters. */
const maxErrorOutput = 4096;

async function resultOf(child: ChildProcess, limit: Limit): Promise<FinishedCheck> {
  let errors = '';
  child.stderr?.on('data', (text: Buffer) => {
    if (errors.length < maxErrorOutput) errors += text.toString('latin1');
  });
  const messages = new Map<CheckMessage['kind'], CheckMessage>();
  child.on('message', (message: CheckMessage) => messages.set(message.kind, message));
  const [code, endedBy] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const verdict = messages.get('verdict');
  if (verdict?.kind === 'verdict') return verdict;
  const failed = messages.get('failed');
  if (failed?.kind === 'failed') throw new Error(`an upload cannot be read: ${failed.reason}`);
  limit.signal.throwIfAborted();
  if (limit.hasTimedOut())
    return rejected('bounds', `Its check takes longer than ${limit.timeoutMs / 1000} s.`);
  if (messages.has('begun') && (code !== null || crashes.includes(endedBy))) {
    return /heap out of memory|heap limit/i.test(errors)
      ? rejected('bounds', 'Its check takes more memory than is allowed.')
      : rejected('not_whole', 'It is not a whole Android package: its check crashed.');
  }
  throw new Error(`the check of an upload ended with ${endedBy ?? code}: ${errors.slice(0, maxErrorOutput)}`);
}

function rejected(rule: Rejection['rule'], reason: string): FinishedCheck {
  return { verdict: { rejection: { rule, reason } }, peakBytes: 0 };
}
