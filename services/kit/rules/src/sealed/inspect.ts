import { namedKey, type SecretKeys } from '@headset-cloud/runtime/secrets.ts';
import type { SealedLocation, SealedValue } from './locations.ts';

/** Result of inspecting one page of sealed values. */
export interface Inspected {
  readonly next?: string;
  /** Number of values by the key that opens them, after re-encryption. */
  readonly keys: ReadonlyMap<string, number>;
  /** Number of values that were re-encrypted with the current key. */
  readonly moved: number;
  /** Number of values that were not re-encrypted, because another write changed them at the same time. */
  readonly changed: number;
  /** Values that no configured key opens: the document, and the key id in the value, if any. */
  readonly unopened: readonly { readonly of: string; readonly key: string }[];
}

/** Documents per call: few enough that the call ends well before its deadline, and that operators see progress. */
const pageDocuments = 200;

/**
 * Inspects the next values. With `reseal`, re-encrypts them with the current key. `reseal` runs once, before the first
 * value is re-encrypted. If it fails, nothing is re-encrypted.
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
  let started: Promise<void> | undefined;
  const startOnce = (): Promise<void> => (started ??= (reseal as () => Promise<void>)());
  for (const value of values) {
    const key = secrets.keyOf(value.sealed, value.purpose);
    if (key === undefined) {
      unopened.push({ of: value.of, key: namedKey(value.sealed) ?? '' });
      continue;
    }
    const outcome = reseal ? await reencrypt(value, secrets, startOnce) : 'stays';
    if (outcome === 'moved') moved += 1;
    if (outcome === 'changed') changed += 1;
    const now = outcome === 'moved' ? secrets.sealing : key;
    keys.set(now, (keys.get(now) ?? 0) + 1);
  }
  return { ...(next !== undefined && { next }), keys, moved, changed, unopened };
}

async function reencrypt(
  value: SealedValue,
  secrets: SecretKeys,
  startOnce: () => Promise<void>,
): Promise<'stays' | 'moved' | 'changed'> {
  const { sealed, purpose } = value;
  if (!value.replace || secrets.isCurrent(sealed, purpose)) return 'stays';
  await startOnce();
  const again = secrets.seal(secrets.open(sealed, purpose), purpose);
  return (await value.replace(again)) ? 'moved' : 'changed';
}
