import { DomainError, isDuplicateKey } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { SecretKeys } from '../secrets.ts';
import type { Store, StoreCollection } from '../store/types.ts';

/** A key by which values of this database may be sealed. */
export interface NotedKeyDocument {
  /** The key's id. */
  _id: string;
  notedAt: Date;
}

/** The keys by which values of a database are sealed, so that a start without one of them says so (ADR 0039). */
export interface NotedKeys {
  /**
   * Notes the key that seals. Throws 'unavailable', which a start waits for, while this process lacks a noted
   * key: then its own may be the wrong one, and is not noted.
   */
  check(): Promise<void>;
  list(): Promise<string[]>;
  forget(keyId: string): Promise<void>;
}

const collectionName = 'secretKeys';

export function createNotedKeys(options: {
  readonly store: Store;
  readonly secrets: SecretKeys;
  readonly logger: Logger;
}): NotedKeys {
  const { store, secrets, logger } = options;
  const noted: StoreCollection<NotedKeyDocument> = store.collection(collectionName);
  const own = [secrets.sealing, ...secrets.others];

  async function list(): Promise<string[]> {
    return (await noted.find({}, { sort: { _id: 1 } }).toArray()).map(({ _id }) => _id);
  }

  return {
    async check() {
      const all = await list();
      const missing = all.filter((id) => !own.includes(id));
      if (missing.length > 0) throw new DomainError('unavailable', lacking(missing));
      logger.info({ seals: secrets.sealing, opensOnly: secrets.others }, 'secret keys');
      if (all.includes(secrets.sealing)) return;
      try {
        await noted.insertOne({ _id: secrets.sealing, notedAt: new Date() });
      } catch (error) {
        // Another process of the service has noted it.
        if (!isDuplicateKey(error)) throw error;
      }
    },
    list,
    async forget(keyId) {
      await noted.deleteOne({ _id: keyId });
    },
  };
}

function lacking(keys: readonly string[]): string {
  const named = keys.length === 1 ? `key ${keys[0]} is` : `keys ${keys.join(', ')} are`;
  return `values are sealed by a key that is not configured: ${named} neither SECRET_KEY nor in SECRET_KEY_OTHERS`;
}
