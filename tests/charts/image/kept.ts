import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Made, makeImage, readSettings, root, type Settings } from '../../../charts/image/make.ts';
import { treeOf } from '../../support/sources.ts';

/** What an image is made of. */
const sources = ['package.json', 'package-lock.json', 'proto', 'gateway', 'services', 'charts/image'];

/** A text that changes with the sources; undefined where git does not know them, or not as they are. */
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

/** Settings of the one archive of each kind that is kept, where all tests look for it. */
export function settingsOf(which: Which): Settings {
  const today = sourcesKey() ?? `changed-${randomBytes(4).toString('hex')}`;
  const settings = (name: string, env: Record<string, string>) =>
    readSettings({ ...env, OUT: join(root, '.cache/image', `kept-${name}.tar`) });
  if (which === 'platform') return settings(which, { TAG: today });
  if (which === 'test') return settings(which, { TAG: today, TEST: '1' });
  const { commit, secondsSince1970 } = which;
  return settings('before', {
    // An earlier commit's sources are staged by today's script.
    TAG: `${commit.slice(0, 12)}-staged-by-${today}`,
    SOURCE: treeOf(commit),
    REVISION: commit,
    SOURCE_DATE_EPOCH: String(secondsSince1970),
  });
}

/** The kept archive of these settings; made where there is none. */
export async function keptImage(settings: Settings): Promise<Made> {
  const told = `${settings.out}.json`;
  if (existsSync(told) && existsSync(settings.out)) {
    const kept = JSON.parse(readFileSync(told, 'utf8'));
    if (kept.reference === settings.reference) return { ...kept, archive: settings.out };
  }
  return makeImage(settings, () => {});
}
