import { isOlder } from '@headset-cloud/rules/version.ts';

/** Versions of client and firmware. An empty one means "any" in a minimum and "not known" of a headset. */
export interface Versions {
  readonly client: string;
  readonly firmware: string;
}

/**
 * Why a headset is too old for an operation (rule C14, rule A13); undefined: it is not. A version that the
 * headset does not report counts as the oldest.
 */
export function tooOldMessage(of: Versions, minimum: Versions): string | undefined {
  for (const what of ['client', 'firmware'] as const) {
    if (minimum[what] && isOlder(of[what] || '0', minimum[what])) {
      return `The device's ${what} version ${of[what] || 'unknown'} is older than ${minimum[what]}, which this operation needs.`;
    }
  }
  return undefined;
}
