import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { BSON, ObjectId } from 'mongodb';

/** A collection of documents of every shape. */
// biome-ignore lint/suspicious/noExplicitAny: the scenarios mix types in one field on purpose
export type AnyCollection = StoreCollection<any>;

/**
 * Returns the answer of an operation in a form that can be compared: an error by its class and code, a
 * document by its BSON types. Generated ids are replaced by `<id>`.
 */
export async function answer(operation: () => Promise<unknown>): Promise<unknown> {
  try {
    return plain(await operation());
  } catch (error) {
    const { name, code, keyPattern, insertedCount, writeErrors } = error as Record<string, unknown>;
    return plain({
      error: name,
      code,
      keyPattern,
      insertedCount,
      failedAt: (writeErrors as { index: number; code: number }[] | undefined)?.map((e) => [e.index, e.code]),
    });
  }
}

/** A value as JSON that keeps BSON's types. */
export function plain(value: unknown): unknown {
  return BSON.EJSON.serialize({ value: hideIds(value) }, { relaxed: true })['value'];
}

/** Hides ids that the driver or the server generated; ids of a scenario begin with zeros. */
function hideIds(value: unknown): unknown {
  if (value instanceof ObjectId) return value.toHexString().startsWith('00000000') ? value : '<id>';
  if (Array.isArray(value)) return value.map(hideIds);
  if (typeof value !== 'object' || value === null || value instanceof Date || '_bsontype' in value)
    return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, hideIds(item)]),
  );
}
