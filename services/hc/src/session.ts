import { type Column, type Terminal, table } from '@headset-cloud/cli/output.ts';
import { createFiles, type Files } from '@headset-cloud/cli/standard-streams.ts';
import { longestBackoffMs } from '@headset-cloud/runtime/backoff.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Command } from 'commander';
import { type Api, ApiError, createApi, type Scope } from './api.ts';
import { readCredentials } from './credentials.ts';
import type { Keyboard } from './prompt.ts';
import type { OnInterrupt } from './signals.ts';

/** Parts of the process that hc uses. */
export interface Surroundings {
  readonly terminal: Terminal;
  /** Terminal input; undefined if standard input is not a terminal. */
  readonly keyboard?: Keyboard | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onInterrupt: OnInterrupt;
  /** The file that Node.js runs as hc, for completion scripts. */
  readonly main: string;
  /** Interval for polling; milliseconds, default 1000. */
  readonly pollMs?: number;
  readonly time?: Time;
}

/** The options of hc itself. */
export interface GlobalOptions {
  readonly profile: string;
  readonly application?: string;
  readonly timeoutMs: number;
  readonly json?: boolean;
}

/** Functions for the commands. Options are read when a command runs. */
export interface Session extends Surroundings {
  readonly pollMs: number;
  readonly options: GlobalOptions;
  /** Files that are named on the command line. */
  readonly files: Files;
  /** The API with the credentials of the user. Throws CliError without credentials. */
  api(...scopes: Scope[]): Api;
  /** Prints an answer: as JSON with --json, otherwise as text made by `text`. */
  show<T>(value: T, text: (value: T) => string): void;
  /** Like `show`, for one of many values: one line of JSON. Throws CliError when the output's reader has closed it. */
  emit<T>(value: T, text: (value: T) => string): Promise<void>;
  /**
   * Rows as a table if it fits the terminal, otherwise with the fields below each other; `none` if there are no rows.
   */
  table<T>(rows: readonly T[], columns: readonly Column<T>[], none: string): string;
  /** Prints a message to standard error. */
  note(text: string): void;
}

/** `root`: the program with the global options. `terminal` must be guarded. */
export function createSession(root: Command, surroundings: Surroundings): Session {
  const { terminal, env, time } = surroundings;
  const session: Session = {
    ...surroundings,
    pollMs: surroundings.pollMs ?? 1000,
    files: createFiles(terminal),
    get options() {
      return root.opts<GlobalOptions>();
    },
    api(...scopes) {
      const { profile, application, timeoutMs } = session.options;
      const credentials = readCredentials(env, { profile, ...(application && { application }) });
      return createApi(credentials, { scopes, timeoutMs, ...(time && { time }) });
    },
    show(value, text) {
      terminal.out(session.options.json ? `${JSON.stringify(value, null, 2)}\n` : text(value));
    },
    async emit(value, text) {
      terminal.out(session.options.json ? `${JSON.stringify(value)}\n` : text(value));
      await terminal.flushed?.();
    },
    table: (rows, columns, none) => table(rows, columns, none, terminal.columns),
    note(text) {
      terminal.err(`${text}\n`);
    },
  };
  return session;
}

/** Waits. Returns early, without an error, when `stop` is aborted. */
export async function pause(ms: number, stop: AbortSignal, time: Time = systemTime): Promise<void> {
  await time.sleep(ms, { signal: stop }).catch(() => {});
}

/** Wait before the second try, and longest wait between two tries; milliseconds. */
const waits = { firstMs: 500, maxMs: 30_000 };

/**
 * Repeats a call until it succeeds, for commands that run for hours. A transient failure is reported once, and again
 * when it changes. Returns undefined when `stop` is aborted first.
 */
export async function untilSuccess<T>(
  call: () => Promise<T>,
  { stop, note }: { readonly stop: AbortSignal; readonly note: (text: string) => void },
): Promise<T | undefined> {
  let reported: string | undefined;
  for (let tries = 0; !stop.aborted; tries++) {
    try {
      const answer = await untilStopped(call(), stop);
      if (answer !== undefined && reported !== undefined) note('The API answers again.');
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isPassing) throw error;
      // The request id differs for each request, so it is ignored in the comparison.
      const message = error.message.replace(/, request [\w.-]+/, '');
      if (message !== reported) note(`${message}\nRetrying until the API answers.`);
      reported = message;
      await pause(Math.min(error.retryAfterMs ?? longestBackoffMs(tries + 1, waits), waits.maxMs), stop);
    }
  }
  return undefined;
}

/** The result of `work`; undefined when `stop` is aborted first, and then the result is ignored. */
async function untilStopped<T>(work: Promise<T>, stop: AbortSignal): Promise<T | undefined> {
  const { promise: stopped, resolve } = Promise.withResolvers<undefined>();
  const end = () => resolve(undefined);
  stop.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    stop.removeEventListener('abort', end);
  }
}

/** A signal that the first Ctrl-C aborts; `off` removes the listener. */
export function interruptible(session: Pick<Session, 'onInterrupt'>): {
  readonly stop: AbortSignal;
  off(): void;
} {
  const abort = new AbortController();
  return { stop: abort.signal, off: session.onInterrupt(() => abort.abort()) };
}
