import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemTime, type Time } from '@headset-cloud/kit/clock.ts';
import type { Rejection } from '../apk/bounds.ts';
import type { Declared, Verdict } from './check-file.ts';
import type { Told } from './messages.ts';

/** Heap of a checking process; the largest directory that is allowed takes about half of it. */
const defaultHeapMb = 64;
/** What keeps its memory beside the heap small: one arena of malloc, one thread that unpacks. */
const environment = { MALLOC_ARENA_MAX: '1', UV_THREADPOOL_SIZE: '1' };
const main = fileURLToPath(new URL('./check-main.ts', import.meta.url));
const project = join(dirname(main), '../../../..');
/** What a checking process may read: its code, and how large it was. */
const readable = [join(project, 'services/updates'), join(project, 'node_modules'), '/proc/self/status'];

/** A check that ended, with the largest memory that its process had (0: not known). */
export interface Ended {
  readonly verdict: Verdict;
  readonly peakBytes: number;
}

/**
 * Checks a file in a process of its own, which holds nothing but that file: no environment, no network, no
 * right to write or to start programs. It is killed after `timeoutMs`, and whatever it does beside
 * answering is the file's fault (ADR 0042). Throws when the file cannot be read or the process cannot
 * start, and when the signal aborts.
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

/** What gives a script its heap, and takes every right from it but to read its code. */
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

/** Ends of a process that its own code causes: faults, and V8's end when the heap is full. */
const crashes: readonly unknown[] = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP'];
const keptOfErrors = 4096;

async function answerOf(child: ChildProcess, limit: Limit): Promise<Ended> {
  let errors = '';
  child.stderr?.on('data', (text: Buffer) => {
    if (errors.length < keptOfErrors) errors += text.toString('latin1');
  });
  const told = new Map<Told['kind'], Told>();
  child.on('message', (message: Told) => told.set(message.kind, message));
  const [code, endedBy] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const verdict = told.get('verdict');
  if (verdict?.kind === 'verdict') return verdict;
  const failed = told.get('failed');
  if (failed?.kind === 'failed') throw new Error(`an upload cannot be read: ${failed.reason}`);
  limit.signal.throwIfAborted();
  if (limit.isOver()) return rejected('bounds', `Its check takes longer than ${limit.timeoutMs / 1000} s.`);
  if (told.has('begun') && (code !== null || crashes.includes(endedBy))) {
    return /heap out of memory|heap limit/i.test(errors)
      ? rejected('bounds', 'Its check takes more memory than is allowed.')
      : rejected('not_whole', 'It is not a whole Android package: its check broke off.');
  }
  throw new Error(`the check of an upload ended with ${endedBy ?? code}: ${errors.slice(0, keptOfErrors)}`);
}

function rejected(rule: Rejection['rule'], reason: string): Ended {
  return { verdict: { rejection: { rule, reason } }, peakBytes: 0 };
}
