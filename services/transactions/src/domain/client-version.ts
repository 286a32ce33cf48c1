import { isOlder } from '@headset-cloud/kit/version.ts';

/** Versions of a headset's client and firmware; empty: as minimum any, of a headset not known. */
export interface Versions {
  readonly client: string;
  readonly firmware: string;
}

/**
 * Why a headset is too old for an operation (rule C14, rule A13); undefined: it is not. What a
 * headset does not say counts as the oldest.
 */
export function tooOldMessage(of: Versions, minimum: Versions): string | undefined {
  for (const what of ['client', 'firmware'] as const) {
    if (minimum[what] && isOlder(of[what] || '0', minimum[what])) {
      return `The device's ${what} version ${of[what] || 'unknown'} is older than ${minimum[what]}, which this operation needs.`;
    }
  }
  return undefined;
}
