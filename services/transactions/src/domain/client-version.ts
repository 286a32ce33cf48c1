import { isOlder } from '@headset-cloud/rules/version.ts';

/** Versions of client and firmware. An empty minimum means "any"; an empty version of a headset means "unknown". */
export interface Versions {
  readonly client: string;
  readonly firmware: string;
}

/**
 * Returns the message of a headset that is too old for an operation, or undefined (rules A13 and C14). An unknown
 * version counts as the oldest.
 */
export function tooOldMessage(of: Versions, minimum: Versions): string | undefined {
  for (const what of ['client', 'firmware'] as const) {
    if (minimum[what] && isOlder(of[what] || '0', minimum[what])) {
      return `The device's ${what} version ${of[what] || 'unknown'} is older than ${minimum[what]}, which this operation needs.`;
    }
  }
  return undefined;
}
