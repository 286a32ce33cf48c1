import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** A store of the platform that tests can stop and restart. */
export interface BackingServer {
  readonly pid: number;
  kill(): Promise<void>;
  /** Restarts the server with the same data and address. */
  restart(): Promise<void>;
}

/** The project's root folder. */
export const root = resolve(import.meta.dirname, '../../../..');

/**
 * Compile cache of started processes, which makes a start a third faster. Processes write to the cache when they end
 * normally.
 */
export const compileCache = join(root, '.cache', 'compiled');

export interface ProcessOptions {
  readonly name: string;
  /** TypeScript file below the root, or a program on PATH. */
  readonly entry: string;
  /** Called at each start; returns the root of the sources. Default: the project's root. */
  readonly sources?: () => string;
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** File for the process's output. */
  readonly logFile: string;
}

/** A process of the platform under test: started, stopped, killed and frozen by its name. */
export interface ManagedProcess {
  readonly name: string;
  readonly pid: number;
  readonly running: boolean;
  /** Starts or restarts the process. `env`: additional environment of this run. */
  start(env?: Record<string, string>): void;
  signal(signal: NodeJS.Signals): void;
  /**
   * Sends SIGTERM, and SIGKILL if the process has not ended after `graceMs` (default: longer than its configured
   * drain). Returns whether the process ended without SIGKILL.
   */
  stop(graceMs?: number): Promise<boolean>;
  /** Sends SIGKILL and resolves when the process has ended. */
  kill(): Promise<void>;
  /** Resolves with the exit code or signal when the process has ended for any reason. */
  readonly exited: Promise<string>;
  log(): string;
}

const alive = new Set<ChildProcess>();
let hooked = false;

/** Kills a child process (SIGKILL) when this process exits. */
export function killAtExit(child: ChildProcess): void {
  if (!hooked) {
    hooked = true;
    process.on('exit', () => {
      for (const one of alive) one.kill('SIGKILL');
    });
  }
  alive.add(child);
  const ended = () => void alive.delete(child);
  child.once('exit', ended).once('error', ended);
}

/** Defines a process. `start` starts it. */
export function manageProcess(options: ProcessOptions): ManagedProcess {
  let child: ChildProcess | undefined;
  let exited: Promise<string> = Promise.resolve('not started');
  const isScript = options.entry.endsWith('.ts');
  const running = () => child !== undefined && child.exitCode === null && child.signalCode === null;

  return {
    name: options.name,
    get pid() {
      return child?.pid ?? 0;
    },
    get running() {
      return running();
    },
    get exited() {
      return exited;
    },
    start(env = {}) {
      if (running()) throw new Error(`${options.name} is running already`);
      mkdirSync(dirname(options.logFile), { recursive: true });
      const log = openSync(options.logFile, 'a');
      const sources = options.sources?.() ?? root;
      const starting = spawn(
        isScript ? nodeOf(sources) : options.entry,
        [
          ...(isScript ? ['--disable-warning=ExperimentalWarning', join(sources, options.entry)] : []),
          ...(options.args ?? []),
        ],
        {
          stdio: ['ignore', log, log],
          env: { ...cleanEnv(), NODE_COMPILE_CACHE: compileCache, ...options.env, ...env },
        },
      );
      closeSync(log);
      child = starting;
      killAtExit(starting);
      exited = new Promise((done) => {
        starting.once('exit', (code, signal) => done(signal ?? String(code)));
        starting.once('error', (error) => done(error.message));
      });
    },
    signal(signal) {
      child?.kill(signal);
    },
    async stop(graceMs = 10_000 + configuredStopMs(options.env)) {
      if (!running()) return true;
      child?.kill('SIGCONT');
      child?.kill('SIGTERM');
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<false>((done) => {
        timer = setTimeout(() => done(false), graceMs);
      });
      const hasEnded = await Promise.race([exited.then(() => true), late]);
      clearTimeout(timer);
      if (!hasEnded) {
        child?.kill('SIGKILL');
        await exited;
      }
      return hasEnded;
    },
    async kill() {
      if (!running()) return;
      child?.kill('SIGKILL');
      await exited;
    },
    log() {
      try {
        return readFileSync(options.logFile, 'utf8');
      } catch {
        return '';
      }
    },
  };
}

/** Returns the Node.js program of the sources. A release uses its own version. */
function nodeOf(sources: string): string {
  return sources === root ? process.execPath : join(sources, 'node_modules', '.bin', 'node');
}

/** Returns the time that the settings of a process give it for its stop; milliseconds. */
function configuredStopMs(env: Readonly<Record<string, string>>): number {
  // The last two keys are settings of release 0.1.0.
  const keys = ['STOP_DELAY_MS', 'STOP_GRACE_MS', 'DRAIN_TIMEOUT_MS', 'RPC_DRAIN_MS'];
  return keys.reduce((sum, key) => sum + Number(env[key] ?? 0), 0);
}

/** Returns this process's environment without settings of the platform, so that a test sets all of them. */
function cleanEnv(): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const key of ['PATH', 'HOME', 'TMPDIR', 'LANG', 'JAVA_HOME']) {
    const value = process.env[key];
    if (value !== undefined) kept[key] = value;
  }
  return kept;
}
