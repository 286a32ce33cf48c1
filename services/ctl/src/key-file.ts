import { unlinkSync } from 'node:fs';
import { usageError } from '@headset-cloud/cli/exit-codes.ts';
import { createSecretFile } from '@headset-cloud/cli/secret-file.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';

/** The content of a key file. */
export function keyFileText(key: HeadsetKeyFile): string {
  return `${JSON.stringify(key, null, 2)}\n`;
}

/**
 * Writes a key file that only its owner can read (mode 0600). Never overwrites a file. The file is durable when the
 * function returns.
 */
export function writeKeyFile(path: string, key: HeadsetKeyFile): void {
  let reason = 'it exists, and a key is never overwritten';
  try {
    if (createSecretFile(path, keyFileText(key))) return;
  } catch (error) {
    reason = (error as Error).message;
  }
  throw usageError(`The key file ${path} cannot be written: ${reason}. Choose another file with --out.`);
}

/** Removes a key file whose public key was not registered. */
export function removeKeyFile(path: string): void {
  unlinkSync(path);
}
