import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { usageError } from '@headset-cloud/cli/exit-codes.ts';
import { readSecretFile, writeSecretFile } from '@headset-cloud/cli/secret-file.ts';
import type { Files } from '@headset-cloud/cli/standard-streams.ts';
import type { Api } from './api.ts';
import { configFolder, storing } from './folders.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** A key with which callbacks are signed. */
export interface SigningKey {
  readonly key: string;
  /** For messages: the application's key, hc's own key, or the key of a file. */
  readonly whose: string;
}

/** The application's key from its settings, which needs cws:application:read; undefined if none was issued. */
export async function applicationKey(api: Api): Promise<SigningKey | undefined> {
  const { authenticationKey } = await api.get<{ authenticationKey?: string }>('');
  return authenticationKey === undefined
    ? undefined
    : { key: authenticationKey, whose: "the application's key" };
}

const ownKeyFile = (env: Env) => join(configFolder(env), 'signing-key');

/** hc's own key, if it has one. */
export function ownKey(env: Env): SigningKey | undefined {
  const key = readSecretFile(ownKeyFile(env), "The file of hc's own key")?.trim();
  return key ? { key, whose: "hc's own key" } : undefined;
}

/** hc's own key, which is created if missing. It signs only for the user's servers. */
export function ownKeyOrNew(env: Env): SigningKey {
  const known = ownKey(env);
  if (known) return known;
  const key = `hc_${randomBytes(32).toString('base64url')}`;
  const path = ownKeyFile(env);
  storing("hc's own key", path, 'XDG_CONFIG_HOME', () => writeSecretFile(path, `${key}\n`));
  return { key, whose: "hc's own key" };
}

/** The key in a file that the command line names; - is standard input. */
export async function keyOfFile(files: Files, path: string): Promise<SigningKey> {
  const key = (await files.text(path, 'The file of --key')).trim();
  if (key === '' || /\s/.test(key)) {
    throw usageError('The file of --key must have one key, on one line.');
  }
  return { key, whose: `the key of ${path === '-' ? 'standard input' : path}` };
}
