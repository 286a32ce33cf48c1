import * as cli from '@headset-cloud/cli/session.ts';
import { longestBackoffMs } from '@headset-cloud/runtime/backoff.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Command } from 'commander';
import { type Api, ApiError, createApi, type Scope } from './api.ts';
import { readCredentials } from './credentials.ts';
import type { Keyboard } from './prompt.ts';
import type { OnInterrupt } from './signals.ts';

/** Parts of the process that hc uses. */
export interface Surroundings extends cli.Surroundings {
  /** Terminal input; undefined if standard input is not a terminal. */
  readonly keyboard?: Keyboard | undefined;
  readonly onInterrupt: OnInterrupt;
  /** Interval for polling; milliseconds, default 1000. */
  readonly pollMs?: number;
  readonly time?: Time;
}

/** The options of hc itself. */
interface GlobalOptions {
  readonly profile: string;
  readonly application?: string;
  readonly timeoutMs: number;
}

/** Functions for the commands of hc. */
export interface Session extends Surroundings, cli.Session {
  readonly pollMs: number;
  readonly options: GlobalOptions;
  /** The API with the credentials of the user. Throws CliError without credentials. */
  api(...scopes: Scope[]): Api;
}

/** `root`: the program with the global options. */
export function createSession(root: Command, surroundings: Surroundings): Session {
  const { env, time, pollMs = 1000 } = surroundings;
  const options = () => root.opts<GlobalOptions>();
  return {
    ...cli.createSession(root, surroundings),
    pollMs,
    get options() {
      return options();
    },
    api(...scopes) {
      const { profile, application, timeoutMs } = options();
      const credentials = readCredentials(env, { profile, ...(application && { application }) });
      return createApi(credentials, { scopes, timeoutMs, ...(time && { time }) });
    },
  };
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
      if (!(error instanceof ApiError) || !error.isTransient) throw error;
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
export async function untilStopped<T>(work: Promise<T>, stop: AbortSignal): Promise<T | undefined> {
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
