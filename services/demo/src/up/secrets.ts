import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { userText } from '@headset-cloud/runtime/user-text.ts';
import { readIdentities } from '../headset/identity.ts';
import type { IssuerClient } from '../stack/stack.ts';
import { Refusal, shown } from './folder.ts';

/** File of the key for the verification of callbacks. */
export const integratorKeyFile = (dataDir: string): string => join(dataDir, 'integrator.key');

/** File of the headset's key. */
export const headsetKeyFileIn = (dataDir: string): string => join(dataDir, 'headset-key.json');

const minKeyLength = 32;

/** Throws a Refusal that names the file if a key of an earlier run in this folder is damaged. */
export function refuseDamagedKeys(dataDir: string): void {
  const [integrator, headset] = [integratorKeyFile(dataDir), headsetKeyFileIn(dataDir)];
  if (existsSync(integrator) && readFileSync(integrator, 'utf8').trim().length < minKeyLength) {
    throw damaged(integrator, "the application's authentication key");
  }
  if (!existsSync(headset)) return;
  try {
    readIdentities(headset);
  } catch {
    throw damaged(headset, "the headset's key");
  }
}

/** Returns the issuer's clients of an earlier run, or a new client. Throws a Refusal if the file is damaged. */
export function issuerClients(dataDir: string): IssuerClient[] {
  const file = join(dataDir, 'issuer-clients.json');
  if (!existsSync(file)) {
    return [{ clientId: 'demo-client', clientSecret: randomBytes(24).toString('base64url') }];
  }
  const clients = parsed(readFileSync(file));
  if (!Array.isArray(clients) || clients.length === 0 || !clients.every(isClient)) {
    throw damaged(file, "the issuer's clients");
  }
  return clients;
}

function isClient(given: Partial<IssuerClient> | null): boolean {
  return Boolean(given?.clientId && given.clientSecret);
}

function damaged(file: string, what: string): Refusal {
  return new Refusal(
    `${shown(file)} does not hold ${what}: it is empty or damaged. Restore it, or remove it to create a new one.`,
  );
}

function parsed(content: Buffer): unknown {
  try {
    return JSON.parse(userText(content));
  } catch {
    return undefined;
  }
}
