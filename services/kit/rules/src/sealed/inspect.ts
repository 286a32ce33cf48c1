import { namedKey, type SecretKeys } from '@headset-cloud/runtime/secrets.ts';
import type { SealedLocation, SealedValue } from './locations.ts';

/** Result for a part of a collection of sealed values. */
export interface Inspected {
  readonly next?: string;
  /** Number of values by the key that opens them, after re-encryption. */
  readonly keys: ReadonlyMap<string, number>;
  readonly moved: number;
  /** Values that changed during their re-encryption. */
  readonly changed: number;
  readonly unopened: readonly { readonly of: string; readonly key: string }[];
}

/** Documents per call: the call ends well before its deadline, and operators see progress. */
const pageDocuments = 200;

/**
 * Inspects the next values; with `reseal` re-encrypts them with the current key. `reseal` runs before the
 * first re-encryption, and not at all if there is none; if it fails, nothing is re-encrypted.
 */
export async function inspectSealed(
  location: SealedLocation,
  secrets: SecretKeys,
  {
    after = '',
    reseal,
    limit = pageDocuments,
  }: { after?: string; reseal?: (() => Promise<void>) | undefined; limit?: number },
): Promise<Inspected> {
  const { values, next } = await location.page(after, limit);
  const keys = new Map<string, number>();
  const unopened: { of: string; key: string }[] = [];
  let moved = 0;
  let changed = 0;
  let begun: Promise<void> | undefined;
  const begin = (): Promise<void> => (begun ??= (reseal as () => Promise<void>)());
  for (const value of values) {
    const key = secrets.keyOf(value.sealed, value.purpose);
    if (key === undefined) {
      unopened.push({ of: value.of, key: namedKey(value.sealed) ?? '' });
      continue;
    }
    const outcome = reseal ? await move(value, secrets, begin) : 'stays';
    if (outcome === 'moved') moved += 1;
    if (outcome === 'changed') changed += 1;
    const now = outcome === 'moved' ? secrets.sealing : key;
    keys.set(now, (keys.get(now) ?? 0) + 1);
  }
  return { ...(next !== undefined && { next }), keys, moved, changed, unopened };
}

async function move(
  value: SealedValue,
  secrets: SecretKeys,
  begin: () => Promise<void>,
): Promise<'stays' | 'moved' | 'changed'> {
  const { sealed, purpose } = value;
  if (!value.replace || secrets.isCurrent(sealed, purpose)) return 'stays';
  await begin();
  const again = secrets.seal(secrets.open(sealed, purpose), purpose);
  return (await value.replace(again)) ? 'moved' : 'changed';
}
