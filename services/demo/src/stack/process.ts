import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** A server behind the platform that tests can stop and restart. */
export interface BackingServer {
  readonly pid: number;
  kill(): Promise<void>;
  /** Starts it again with the same data and address. */
  restart(): Promise<void>;
}

/** The project's root folder. */
export const root = resolve(import.meta.dirname, '../../../..');

/**
 * The compile cache of started processes, which makes a start a third faster. Processes that end normally
 * write it.
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
  /** Everything the process prints goes there. */
  readonly logFile: string;
}

/** A process of the platform under test: started, stopped, killed and frozen by its name. */
export interface ManagedProcess {
  readonly name: string;
  readonly pid: number;
  readonly running: boolean;
  /** Starts it (again); `env` is added for this run only. */
  start(env?: Record<string, string>): void;
  signal(signal: NodeJS.Signals): void;
  /**
   * SIGTERM, and SIGKILL if it has not ended after `graceMs` (default: longer than its own drain). Returns
   * whether it ended by itself.
   */
  stop(graceMs?: number): Promise<boolean>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Resolves with the exit code or signal when it ends for any reason. */
  readonly exited: Promise<string>;
  log(): string;
}

const alive = new Set<ChildProcess>();
let hooked = false;

/** Describes a process; nothing runs before `start`. */
export function manageProcess(options: ProcessOptions): ManagedProcess {
  if (!hooked) {
    hooked = true;
    process.on('exit', () => {
      for (const child of alive) child.kill('SIGKILL');
    });
  }
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
      alive.add(starting);
      exited = new Promise((done) => {
        starting.once('exit', (code, signal) => {
          alive.delete(starting);
          done(signal ?? String(code));
        });
        starting.once('error', (error) => {
          alive.delete(starting);
          done(error.message);
        });
      });
    },
    signal(signal) {
      child?.kill(signal);
    },
    async stop(graceMs = 10_000 + ownDrainMs(options.env)) {
      if (!running()) return true;
      child?.kill('SIGCONT');
      child?.kill('SIGTERM');
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<false>((done) => {
        timer = setTimeout(() => done(false), graceMs);
      });
      const went = await Promise.race([exited.then(() => true), late]);
      clearTimeout(timer);
      if (!went) {
        child?.kill('SIGKILL');
        await exited;
      }
      return went;
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

/** Other sources (a release) run on their own Node.js version. */
function nodeOf(sources: string): string {
  return sources === root ? process.execPath : join(sources, 'node_modules', '.bin', 'node');
}

/** The stop time limit of a process, from its configuration. */
function ownDrainMs(env: Readonly<Record<string, string>>): number {
  // The last two are a release's that has no STOP_GRACE_MS yet.
  const keys = ['TURN_AWAY_MS', 'STOP_GRACE_MS', 'DRAIN_TIMEOUT_MS', 'RPC_DRAIN_MS'];
  return keys.reduce((sum, key) => sum + Number(env[key] ?? 0), 0);
}

/** The environment without the platform's own keys, so that a test decides all of them. */
function cleanEnv(): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const key of ['PATH', 'HOME', 'TMPDIR', 'LANG', 'JAVA_HOME']) {
    const value = process.env[key];
    if (value !== undefined) kept[key] = value;
  }
  return kept;
}
