import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecretFile } from '@headset-cloud/cli/secret-file.ts';
import { ConfigError } from '@headset-cloud/runtime/config.ts';
import { sealingConfig } from '@headset-cloud/runtime/sealing-config.ts';

/**
 * Returns the SECRET_KEY for a developer's machine: the content of `secret.key` in the data folder. Generates the key
 * if the file does not exist. Throws ConfigError, which names the file, if its content is not a key.
 */
export function ownSecretKey(dataDir: string): string {
  const file = join(dataDir, 'secret.key');
  const existing = read(file);
  if (existing === undefined) createSecretFile(file, randomBytes(32).toString('hex'));
  // Another process may have been the first to create the file.
  const key = (existing ?? read(file) ?? '').trim();
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
