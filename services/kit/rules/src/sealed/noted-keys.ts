import { DomainError, isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { SecretKeys } from '@headset-cloud/runtime/secrets.ts';
import type { Update } from '@headset-cloud/store/operations.ts';
import type { Store, StoreCollection } from '@headset-cloud/store/types.ts';
import { type PendingAuditFields, type PendingAuditRecord, withAuditRecord } from '../audit/record.ts';

/** A key with which values of this database may be sealed. */
export interface NotedKeyDocument extends PendingAuditFields {
  /** The key's id. */
  _id: string;
  notedAt: Date;
  /** True: no value needs the key any more. The document stays, because its audit record may be pending. */
  forgotten?: true;
}

/**
 * The keys with which values of a database are sealed, so that a process that lacks one of them detects it (ADR 0039).
 */
export interface NotedKeys {
  /**
   * Stores the id of the current key. If this process lacks a noted key, stores nothing, because its own key may be
   * wrong, and throws `unavailable`, so that the start of the process waits.
   */
  check(): Promise<void>;
  list(): Promise<string[]>;
  /** Resolves with false, and stores no audit record, if the key is not noted. */
  forget(keyId: string, record: PendingAuditRecord): Promise<boolean>;
  /** Stores the audit record and notes the current key. Called before values are re-encrypted with it. */
  reseals(record: PendingAuditRecord): Promise<void>;
}

export const notedKeysCollection = 'secretKeys';

export function createNotedKeys(options: {
  readonly store: Store;
  readonly secrets: SecretKeys;
  readonly logger: Logger;
}): NotedKeys {
  const { store, secrets, logger } = options;
  const noted: StoreCollection<NotedKeyDocument> = store.collection(notedKeysCollection);
  const own = [secrets.sealing, ...secrets.others];

  async function list(): Promise<string[]> {
    const known = { forgotten: { $exists: false } };
    const found = await noted.find(known, { sort: { _id: 1 }, projection: { _id: 1 } }).toArray();
    return found.map(({ _id }) => _id);
  }

  async function note(): Promise<void> {
    const notedAt = new Date();
    try {
      await noted.insertOne({ _id: secrets.sealing, notedAt });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // Another process of the service has noted the key, or a forgotten key is used again.
      const forgotten = { _id: secrets.sealing, forgotten: true as const };
      await noted.updateOne(forgotten, { $set: { notedAt }, $unset: { forgotten: '' } });
    }
  }

  return {
    async check() {
      const all = await list();
      const missing = all.filter((id) => !own.includes(id));
      if (missing.length > 0) throw new DomainError('unavailable', lacking(missing));
      logger.info({ seals: secrets.sealing, opensOnly: secrets.others }, 'secret keys');
      if (!all.includes(secrets.sealing)) await note();
    },
    list,
    async forget(keyId, record) {
      const forgotten: Update<NotedKeyDocument> = { $set: { forgotten: true } };
      const known = { _id: keyId, forgotten: { $exists: false } };
      return (await noted.updateOne(known, withAuditRecord(forgotten, record))).matchedCount === 1;
    },
    async reseals(record) {
      // If this process lacked a key at its start, its current key is not noted yet.
      await note();
      await noted.updateOne({ _id: secrets.sealing }, withAuditRecord({}, record));
    },
  };
}

function lacking(keys: readonly string[]): string {
  const [named, belongs] =
    keys.length === 1 ? [`key ${keys[0]} is`, 'it belongs'] : [`keys ${keys.join(', ')} are`, 'they belong'];
  return `values are sealed by a key that is not configured: ${named} neither SECRET_KEY nor in SECRET_KEY_OTHERS; ${belongs} in one of the two until \`ctl secrets reseal\` has moved everything to another key`;
}
