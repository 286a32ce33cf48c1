import { execFileSync } from 'node:child_process';
import { root } from '@headset-cloud/demo/stack/process.ts';

/** The full name of the commit that BENCH_AGAINST names. Throws with git's message where there is none. */
export function commitOf(reference: string): string {
  const args = ['rev-parse', '--verify', `${reference}^{commit}`];
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}
