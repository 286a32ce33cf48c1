import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { userText } from '@headset-cloud/runtime/user-text.ts';
import { defaultSettings, ownSettings } from '../stack/own-settings.ts';
import { root } from '../stack/process.ts';
import { Refusal, shown } from './folder.ts';

/** The user's settings for all processes of the platform. */
export type Settings = Readonly<Record<string, string>>;

/** List of all settings, written by `make generate`. */
const documented = 'docs/configuration.md';

/**
 * Reads a file of KEY=VALUE lines. Empty lines and lines that begin with # are ignored; values are not changed.
 * Throws a Refusal that names every invalid line, for example a key that no process reads or that `make up` sets.
 */
export function readSettings(file: string): Settings {
  const known = knownSettings();
  const settings: Record<string, string> = {};
  const problems: string[] = [];
  for (const [i, line] of linesOf(file).entries()) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue;
    const [, key = '', value = ''] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line) ?? [];
    const problem =
      key === ''
        ? 'is not KEY=VALUE, for example LOG_LEVEL=debug'
        : key in settings
          ? `sets ${key} again`
          : problemOf(key, known);
    if (problem) problems.push(`${shown(file)}, line ${i + 1} ${problem}.`);
    else settings[key] = value;
  }
  if (problems.length > 0) throw new Refusal(problems.join('\n'));
  return settings;
}

/** Lists the names of the user's settings. Values may be secret. */
export function settingsText(settings: Settings): string {
  const names = Object.keys(settings).map((key) =>
    key in defaultSettings
      ? `${key} (in place of ${defaultSettings[key as keyof typeof defaultSettings]})`
      : key,
  );
  return names.length === 0 ? 'none' : names.join(', ');
}

/** Returns the admin token that the processes require; undefined: none. */
export function adminTokenOf({ ADMIN_TOKEN, ADMIN_TOKEN_FILE }: Settings): string | undefined {
  if (ADMIN_TOKEN !== undefined) return ADMIN_TOKEN;
  return ADMIN_TOKEN_FILE === undefined ? undefined : userText(readFileSync(ADMIN_TOKEN_FILE)).trim();
}

function linesOf(file: string): string[] {
  try {
    return userText(readFileSync(file)).split(/\r?\n/);
  } catch (error) {
    throw new Refusal(
      `SETTINGS=${shown(file)} cannot be read: ${(error as Error).message}. It is a file of KEY=VALUE lines: make up SETTINGS=my.settings, for example.`,
    );
  }
}

function problemOf(key: string, known: ReadonlySet<string>): string | undefined {
  if (ownSettings.has(key) || ownSettings.has(key.replace(/_FILE$/, ''))) {
    return `sets ${key}, which make up sets itself: the README names what can be chosen (DATA_DIR, PORT, MONGODB_URI and so on, as in make up PORT=9080)`;
  }
  if (known.has(key) || key === 'NODE_ENV' || key.startsWith('OTEL_')) return undefined;
  return `sets ${key}, which no process reads: ${documented} lists all settings`;
}

function knownSettings(): ReadonlySet<string> {
  const text = readFileSync(join(root, documented), 'utf8');
  const keys = [...text.matchAll(/^\| `([A-Z0-9_]+)` \|/gm)].map(([, key = '']) => key);
  const files = [...text.matchAll(/as the file `([A-Z0-9_]+)` names/g)].map(([, key = '']) => key);
  return new Set([...keys, ...files]);
}
