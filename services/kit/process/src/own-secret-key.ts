import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecretFile } from '@headset-cloud/cli/secret-file.ts';
import { ConfigError } from '@headset-cloud/runtime/config.ts';
import { sealingConfig } from '@headset-cloud/runtime/sealing-config.ts';

/**
 * SECRET_KEY for a developer's machine: the content of `secret.key` in the folder of the data that it seals. Draws the
 * key if there is no such file. Throws ConfigError, which names the file, if its content is no key.
 */
export function ownSecretKey(dataDir: string): string {
  const file = join(dataDir, 'secret.key');
  const kept = read(file);
  if (kept === undefined) createSecretFile(file, randomBytes(32).toString('hex'));
  // Another process may have been the first to create the file.
  const key = (kept ?? read(file) ?? '').trim();
  try {
    return sealingConfig.SECRET_KEY.parse(key);
  } catch (error) {
    const reason =
      `${file} holds no SECRET_KEY: it ${(error as Error).message}. Restore the file: no other key opens the sealed data in ${dataDir}. ` +
      `For a new key remove ${dataDir} with its data. Example: rm -r ${dataDir}`;
    throw new ConfigError([{ setting: 'SECRET_KEY', reason }]);
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
