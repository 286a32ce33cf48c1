import { isDuplicateKey } from '../errors.ts';
import type { Component } from '../lifecycle.ts';
import type { Logger } from '../logger.ts';
import { repeat } from '../repeat.ts';
import type { SecretKeys } from '../secrets.ts';
import type { Store, StoreCollection } from '../store/types.ts';

/** A key by which values of this database may be sealed. */
export interface NotedKeyDocument {
  /** The key's id. */
  _id: string;
  notedAt: Date;
}

/** The keys by which values of a database are sealed, so that a start without one of them says so (ADR 0039). */
export interface NotedKeys extends Component {
  notReady(): string | undefined;
  list(): Promise<string[]>;
  forget(keyId: string): Promise<void>;
}

const collectionName = 'secretKeys';

/** `retryMs`: how often a process that lacks a key looks whether it is still needed. */
export function createNotedKeys(options: {
  readonly store: Store;
  readonly secrets: SecretKeys;
  readonly logger: Logger;
  readonly retryMs?: number;
}): NotedKeys {
  const { store, secrets, logger, retryMs = 10_000 } = options;
  const noted: StoreCollection<NotedKeyDocument> = store.collection(collectionName);
  const own = new Set([secrets.sealing, ...secrets.others]);
  let missing: readonly string[] = [];

  async function list(): Promise<string[]> {
    return (await noted.find({}, { sort: { _id: 1 } }).toArray()).map(({ _id }) => _id);
  }

  /** Notes the key that seals, unless this process lacks another one: then its own may be the wrong one. */
  async function check(): Promise<void> {
    const all = await list();
    missing = all.filter((id) => !own.has(id));
    if (missing.length > 0 || all.includes(secrets.sealing)) return;
    try {
      await noted.insertOne({ _id: secrets.sealing, notedAt: new Date() });
    } catch (error) {
      // Another process of the service has noted it.
      if (!isDuplicateKey(error)) throw error;
    }
  }

  const retry = repeat('the check of the noted keys', retryMs, logger, async () => {
    if (missing.length > 0) await check();
    return 0;
  });

  return {
    name: 'SECRET_KEY',
    async start() {
      await check();
      logger.info({ seals: secrets.sealing, opensOnly: secrets.others }, 'secret keys');
      if (missing.length > 0) logger.error({ keys: missing }, lacking(missing));
      retry.start();
    },
    stop: () => retry.stop(),
    notReady: () => (missing.length > 0 ? lacking(missing) : undefined),
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
