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
const readable = [join(project, 'services/updates'), join(project, 'node_modules'), '/proc/self/status'];

/** A finished check, with the peak memory of its process (0: not known). */
export interface Ended {
  readonly verdict: Verdict;
  readonly peakBytes: number;
}

/**
 * Checks a file in a separate process that can access nothing else: no environment, no network, no right to write or to
 * start programs. The process is killed after `timeoutMs`. If the process ends without an answer, the file is rejected
 * (ADR 0042). Throws when the file cannot be read or the process cannot start, and when the signal aborts.
 */
export async function checkInProcess(
  path: string,
  declared: Declared,
  options: { timeoutMs: number; signal: AbortSignal; heapMb?: number },
  time: Time = systemTime,
): Promise<Ended> {
  const { timeoutMs, signal, heapMb = defaultHeapMb } = options;
  const file = await open(path, 'r');
  let child: ChildProcess;
  try {
    signal.throwIfAborted();
    child = start(argumentsOf(main, heapMb), declared, file.fd);
  } finally {
    await file.close();
  }
  let over = false;
  const stop = () => child.kill('SIGKILL');
  const timer = time.setTimeout(() => {
    over = true;
    stop();
  }, timeoutMs);
  signal.addEventListener('abort', stop);
  try {
    return await answerOf(child, { timeoutMs, signal, isOver: () => over });
  } finally {
    time.clearTimer(timer);
    signal.removeEventListener('abort', stop);
  }
}

interface Limit {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly isOver: () => boolean;
}

/** Node.js options that set a script's heap size and allow it only to read its code. */
export function argumentsOf(script: string, heapMb = defaultHeapMb): string[] {
  const limits = [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=1'];
  const reads = readable.map((path) => `--allow-fs-read=${path}`);
  return [...limits, '--permission', ...reads, script];
}

function start(args: readonly string[], declared: Declared, fd: number): ChildProcess {
  return spawn(process.execPath, [...args, JSON.stringify(declared)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc', fd],
    env: environment,
  });
}

/** Signals of a crash that the process itself caused: faults, and V8's abort when the heap is full. */
const crashes: readonly unknown[] = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP'];
const keptOfErrors = 4096;

async function answerOf(child: ChildProcess, limit: Limit): Promise<Ended> {
  let errors = '';
  child.stderr?.on('data', (text: Buffer) => {
    if (errors.length < keptOfErrors) errors += text.toString('latin1');
  });
  const messages = new Map<CheckMessage['kind'], CheckMessage>();
  child.on('message', (message: CheckMessage) => messages.set(message.kind, message));
  const [code, endedBy] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const verdict = messages.get('verdict');
  if (verdict?.kind === 'verdict') return verdict;
  const failed = messages.get('failed');
  if (failed?.kind === 'failed') throw new Error(`an upload cannot be read: ${failed.reason}`);
  limit.signal.throwIfAborted();
  if (limit.isOver()) return rejected('bounds', `Its check takes longer than ${limit.timeoutMs / 1000} s.`);
  if (messages.has('begun') && (code !== null || crashes.includes(endedBy))) {
    return /heap out of memory|heap limit/i.test(errors)
      ? rejected('bounds', 'Its check takes more memory than is allowed.')
      : rejected('not_whole', 'It is not a whole Android package: its check crashed.');
  }
  throw new Error(`the check of an upload ended with ${endedBy ?? code}: ${errors.slice(0, keptOfErrors)}`);
}

function rejected(rule: Rejection['rule'], reason: string): Ended {
  return { verdict: { rejection: { rule, reason } }, peakBytes: 0 };
}
