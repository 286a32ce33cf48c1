import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { CliError, refusedError } from '@headset-cloud/cli/exit-codes.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The user's folder for hc's configuration and secrets (XDG Base Directory Specification). */
export function configFolder(env: Env): string {
  return folder(env, 'XDG_CONFIG_HOME', '.config');
}

/** The user's folder for data that hc keeps between runs. */
export function stateFolder(env: Env): string {
  return folder(env, 'XDG_STATE_HOME', join('.local', 'state'));
}

function folder(env: Env, variable: string, usual: string): string {
  const given = env[variable];
  // The specification says that a relative path must be ignored.
  const base = given && isAbsolute(given) ? given : join(env['HOME'] || homedir(), usual);
  return join(base, 'headset-cloud');
}

/**
 * Runs a function that stores a file. File system errors become CliErrors. `what` names the file in messages,
 * `variable` is the setting for another folder.
 */
export function storing<T>(
  what: string,
  path: string,
  variable: 'XDG_CONFIG_HOME' | 'XDG_STATE_HOME',
  work: () => T,
): T {
  try {
    return work();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === undefined || cause instanceof CliError) throw cause;
    throw refusedError(
      `${what} cannot be stored in ${path}: ${message}. Set ${variable} to use another folder.`,
      { cause },
    );
  }
}
