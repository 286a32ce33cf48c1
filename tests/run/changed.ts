import { execFileSync } from 'node:child_process';
import { root } from './execute.ts';

/** Hours before the newest commit that count as recent. */
const recentHours = 24;

/**
 * Whether one of the paths changed since the commit `TEST_BASE`, by default since the newest commit that is a day
 * older than the newest one; uncommitted changes count. Without git, everything counts as changed.
 */
export function changedRecently(paths: readonly string[], base = process.env['TEST_BASE']): boolean {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const before = Number(git('log', '-1', '--format=%ct')) - recentHours * 3600;
    const since = base || git('rev-list', '-1', `--before=${before}`, 'HEAD');
    if (since === '') return true;
    return git('diff', '--name-only', since, '--', ...paths) !== '';
  } catch {
    return true;
  }
}
