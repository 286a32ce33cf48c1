import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { releaseName } from '../architecture/breaking/releases.ts';

/** An earlier version of the project, identified by its commit. */
export interface Release {
  readonly commit: string;
  /** Version or given reference, for messages. */
  readonly name: string;
}

/** Runs git in a folder and returns its output. Throws an Error with git's message. */
function git(folder: string, ...args: readonly string[]): string {
  try {
    // Git must not prompt for a password.
    const env = { ...process.env, GIT_TERMINAL_PROMPT: '0' };
    const options = { cwd: folder, env, encoding: 'utf8', stdio: 'pipe', timeout: 300_000 } as const;
    return execFileSync('git', args, options).trim();
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new Error(`git ${args[0]}: ${(stderr || message).trim().split('\n').at(-1)}`, { cause: error });
  }
}

function attempt(folder: string, ...args: readonly string[]): string | undefined {
  try {
    return git(folder, ...args);
  } catch {
    return undefined;
  }
}

/**
 * Returns the last release: the newest commit that changed `proto/released/version` (written by
 * `make contract-release`), or the commit `given`, which is fetched from origin if necessary. If there is no release,
 * returns the reason. Throws if `given` is not a commit.
 */
export function findRelease(folder: string, given = ''): Release | { readonly skipped: string } {
  if (given !== '') return { commit: commitOf(folder, given), name: given };
  const top = attempt(folder, 'rev-parse', '--show-toplevel');
  if (top === undefined || realpathSync(top) !== realpathSync(resolve(folder))) {
    return existsSync(resolve(folder, releaseName))
      ? { skipped: 'the release cannot be found: this folder is not a clone of the git repository' }
      : { skipped: 'no release yet' };
  }
  if (attempt(folder, 'cat-file', '-e', `HEAD:${releaseName}`) === undefined) {
    return { skipped: 'no release yet' };
  }
  const find = () => git(folder, 'log', '-1', '--format=%H', 'HEAD', '--', releaseName);
  if (boundary(folder).includes(find())) {
    try {
      git(folder, 'fetch', '--quiet', '--unshallow', 'origin');
    } catch (error) {
      return {
        skipped: `the release is older than this shallow clone, and the rest could not be fetched (${(error as Error).message})`,
      };
    }
  }
  const commit = find();
  return { commit, name: git(folder, 'show', `${commit}:${releaseName}`) };
}

function commitOf(folder: string, given: string): string {
  const here = attempt(folder, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${given}^{commit}`);
  if (here) return here;
  if (attempt(folder, 'fetch', '--quiet', '--', 'origin', given) !== undefined) {
    return git(folder, 'rev-parse', '--verify', 'FETCH_HEAD^{commit}');
  }
  throw new Error(`RELEASE=${given} names no commit, neither here nor at origin`);
}

/** Returns the oldest commits of a shallow clone. Each appears to have created all its files. */
function boundary(folder: string): string[] {
  const file = resolve(folder, git(folder, 'rev-parse', '--git-path', 'shallow'));
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}
