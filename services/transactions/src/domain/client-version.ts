import { isOlder } from '@headset-cloud/kit/version.ts';

/** Decision 14; a client that does not say its version counts as the oldest. */
export function meetsMinimum(clientVersion: string, minimum: string): boolean {
  return !isOlder(clientVersion || '0', minimum);
}

/** Message of a transaction that the headset's client is too old for (decision 14). */
export function tooOldMessage(clientVersion: string, minimum: string): string {
  return `The device's client version ${clientVersion || 'unknown'} is older than ${minimum}, which this operation needs.`;
}
