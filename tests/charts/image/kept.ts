import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Made, makeImage, readSettings, root, type Settings } from '../../../charts/image/make.ts';
import { treeOf } from '../../support/sources.ts';

/** The sources of an image. */
const sources = ['package.json', 'package-lock.json', 'proto', 'gateway', 'services', 'charts/image'];

/** A text that changes with the sources; undefined if git does not track them, or if they are changed. */
function sourcesKey(): string | undefined {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' });
  try {
    if (git('status', '--porcelain', '--', ...sources) !== '') return undefined;
    return createHash('sha256')
      .update(git('ls-tree', 'HEAD', ...sources))
      .digest('hex')
      .slice(0, 12);
  } catch {
    return undefined;
  }
}

/** The platform's image, the same with simulators and trial issuer, or the platform's of an earlier commit. */
export type Which = 'platform' | 'test' | { readonly commit: string; readonly secondsSince1970: number };

/** Settings of the single cached archive of each kind, which all tests share. */
export function settingsOf(which: Which): Settings {
  const today = sourcesKey() ?? `changed-${randomBytes(4).toString('hex')}`;
  const settings = (name: string, env: Record<string, string>) =>
    readSettings({ ...env, OUT: join(root, '.cache/image', `kept-${name}.tar`) });
  if (which === 'platform') return settings(which, { TAG: today });
  if (which === 'test') return settings(which, { TAG: today, TEST: '1' });
  const { commit, secondsSince1970 } = which;
  return settings('before', {
    // Today's script stages the sources of an earlier commit.
    TAG: `${commit.slice(0, 12)}-staged-by-${today}`,
    SOURCE: treeOf(commit),
    REVISION: commit,
    SOURCE_DATE_EPOCH: String(secondsSince1970),
  });
}

/** The cached archive for these settings; created if missing. */
export async function keptImage(settings: Settings): Promise<Made> {
  const record = `${settings.out}.json`;
  if (existsSync(record) && existsSync(settings.out)) {
    const kept = JSON.parse(readFileSync(record, 'utf8'));
    if (kept.reference === settings.reference) return { ...kept, archive: settings.out };
  }
  return makeImage(settings, () => {});
}
