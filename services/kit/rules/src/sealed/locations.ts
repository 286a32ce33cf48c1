import type { Filter, Projection, Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { Document } from 'mongodb';

/** One value that SECRET_KEY sealed. */
export interface SealedValue {
  /** The document's id, for operators. */
  readonly of: string;
  readonly sealed: Uint8Array;
  readonly purpose: string;
  /**
   * Replaces the value by another encryption of the same text; false: the value has changed meanwhile. Absent: the
   * value cannot be re-encrypted.
   */
  replace?(sealed: Uint8Array): Promise<boolean>;
}

/** A location of sealed values: one or more fields of a collection. */
export interface SealedLocation {
  /** Description of the values, for operators. */
  readonly name: string;
  /** Returns the values of the next documents after `after`, in a fixed order; `next` is absent at the end. */
  page(after: string, limit: number): Promise<{ values: SealedValue[]; next?: string }>;
}

/** A sealed text in a document, as base64. */
export interface SealedField {
  /** Dotted path. */
  readonly path: string;
  readonly text: string;
  readonly purpose: string;
}

/** Sealed texts in the documents of a collection, read in the order of their ids. */
export function sealedFields<T extends Document & { _id: string }>(
  collection: StoreCollection<T>,
  location: {
    readonly name: string;
    /** Projection of the document's fields that `fields` reads. */
    readonly projection: Projection;
    readonly fields: (document: T) => readonly SealedField[];
  },
): SealedLocation {
  return {
    name: location.name,
    async page(after, limit) {
      const found = (await collection
        .find({ _id: { $gt: after } } as Filter<T>, {
          sort: { _id: 1 },
          limit,
          projection: location.projection,
        })
        .toArray()) as T[];
      const values = found.flatMap((document) =>
        location.fields(document).map(({ path, text, purpose }): SealedValue => {
          const { _id } = document;
          return {
            of: _id,
            sealed: Buffer.from(text, 'base64'),
            purpose,
            async replace(sealed) {
              const { matchedCount } = await collection.updateOne(
                { _id, [path]: text } as Filter<T>,
                { $set: { [path]: Buffer.from(sealed).toString('base64') } } as Update<T>,
              );
              return matchedCount === 1;
            },
          };
        }),
      );
      const last = found.length === limit ? found.at(-1)?._id : undefined;
      return { values, ...(last !== undefined && { next: last }) };
    },
  };
}
