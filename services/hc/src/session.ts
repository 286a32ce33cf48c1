import { longestBackoffMs } from '@headset-cloud/kit/backoff.ts';
import { type Column, type Terminal, table } from '@headset-cloud/kit/cli/output.ts';
import { createFiles, type Files } from '@headset-cloud/kit/cli/standard-streams.ts';
import { systemTime, type Time } from '@headset-cloud/kit/clock.ts';
import type { Command } from 'commander';
import { type Api, ApiError, createApi, type Scope } from './api.ts';
import { readCredentials } from './credentials.ts';
import type { Keyboard } from './prompt.ts';
import type { OnInterrupt } from './signals.ts';

/** What hc has of the process that it runs in. */
export interface Surroundings {
  readonly terminal: Terminal;
  /** Where the user types; undefined: standard input is none of a terminal. */
  readonly keyboard?: Keyboard | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onInterrupt: OnInterrupt;
  /** The file that Node runs as hc, for scripts that call it. */
  readonly main: string;
  /** How often something is asked for what is new; milliseconds, default 1000. */
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

/** Functions for the commands; the options are read when a command runs. */
export interface Session extends Surroundings {
  readonly pollMs: number;
  readonly options: GlobalOptions;
  /** The files that the command line names. */
  readonly files: Files;
  /** The API with the credentials of the user; throws CliError where there are none. */
  api(...scopes: Scope[]): Api;
  /** Prints an answer: as JSON with --json, otherwise as text made by `text`. */
  show<T>(value: T, text: (value: T) => string): void;
  /** The same for one of many: one line of JSON. Throws CliError when the output's reader is gone. */
  emit<T>(value: T, text: (value: T) => string): Promise<void>;
  /** Rows under heads as wide as the terminal, or below each other; a sentence when there is none. */
  table<T>(rows: readonly T[], columns: readonly Column<T>[], none: string): string;
  /** Tells beside the output. */
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

/** Waits; ends early, without an error, when `stop` is aborted. */
export async function pause(ms: number, stop: AbortSignal, time: Time = systemTime): Promise<void> {
  await time.sleep(ms, { signal: stop }).catch(() => {});
}

/** Longest wait between two tries of a call; milliseconds. */
const waits = { firstMs: 500, maxMs: 30_000 };

/**
 * Makes a call until it succeeds, as something that runs for hours does: what may pass is told once, and again when it
 * changes. Answers undefined when `stop` is aborted first.
 */
export async function patiently<T>(
  call: () => Promise<T>,
  { stop, note }: { readonly stop: AbortSignal; readonly note: (text: string) => void },
): Promise<T | undefined> {
  let told: string | undefined;
  for (let tries = 0; !stop.aborted; tries++) {
    try {
      const answer = await untilStopped(call(), stop);
      if (answer !== undefined && told !== undefined) note('It answers again.');
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isPassing) throw error;
      // Each request has an id of its own, which is no news.
      const message = error.message.replace(/, request [\w.-]+/, '');
      if (message !== told) note(`${message}\nTrying again until it answers.`);
      told = message;
      await pause(Math.min(error.retryAfterMs ?? longestBackoffMs(tries + 1, waits), waits.maxMs), stop);
    }
  }
  return undefined;
}

/** The result of `work`; undefined when `stop` is aborted first: nobody waits for it any more. */
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

/** A signal that the first Ctrl-C aborts; `off` ends listening. */
export function interruptible(session: Pick<Session, 'onInterrupt'>): {
  readonly stop: AbortSignal;
  off(): void;
} {
  const abort = new AbortController();
  return { stop: abort.signal, off: session.onInterrupt(() => abort.abort()) };
}
