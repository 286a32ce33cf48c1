import type { WithId } from 'mongodb';

/**
 * The subset of MongoDB's query language that services use. MongoDB and the embedded store both implement this subset
 * (services/embedded/README.md), and the compiler rejects any other operator or option. To use a new operator, add it
 * here, in services/embedded and in the contract suite. Values of top-level fields have the types of the document.
 * Values at dotted paths can have any plain type.
 */

/** A dotted path into a document: `activation.epoch`, `places.$.untilMs`. */
type DottedPath = `${string}.${string}`;

/** A value that a filter may compare a dotted path with. */
type PlainValue = string | number | boolean | Date | null;

/** Value to compare a field with: for an array's field the whole array, or one of its items. */
type Comparable<V> = V extends readonly (infer Item)[] ? V | Item : V;

/** Operators on one field; all of them must hold. */
export interface FieldOperators<V> {
  readonly $gt?: V;
  readonly $gte?: V;
  readonly $lt?: V;
  readonly $lte?: V;
  readonly $ne?: V;
  readonly $in?: readonly V[];
  readonly $nin?: readonly V[];
  readonly $exists?: boolean;
  /** Number of items in an array. */
  readonly $size?: V extends readonly unknown[] ? number : never;
  readonly $not?: V extends unknown ? FieldOperators<V> : never;
}

/** A value to equal, or operators. */
type Condition<V> = Comparable<V> | FieldOperators<Comparable<V>>;

/** Selects documents. */
export type Filter<T> = {
  readonly [P in keyof WithId<T>]?: Condition<WithId<T>[P]>;
} & {
  readonly [path: DottedPath]: Condition<PlainValue> | undefined;
} & {
  readonly $and?: Filter<T>[];
  readonly $or?: Filter<T>[];
};

type Item<V> = NonNullable<V> extends readonly (infer I)[] ? I : never;
type ArrayFields<T> = { [P in keyof T]-?: Item<T[P]> extends never ? never : P }[keyof T];
type NumberFields<T> = { [P in keyof T]-?: NonNullable<T[P]> extends number ? P : never }[keyof T];

type Values<T> = Readonly<Partial<T>> & { readonly [path: DottedPath]: unknown };

/** Selects items of an array: by fields to equal, or by operators on fields. */
type ItemCondition<I> = Partial<I> | { readonly [P in keyof I]?: FieldOperators<I[P]> };

/** A change of a document. In a dotted path, `$` is the position of the array item that the filter matched. */
export interface Update<T> {
  readonly $set?: Values<T>;
  /** Applies if an upsert inserts the document. */
  readonly $setOnInsert?: Values<T>;
  readonly $unset?: { readonly [P in keyof T]?: '' | true } & { readonly [path: DottedPath]: '' | true };
  readonly $inc?: { readonly [P in NumberFields<T>]?: number } & { readonly [path: DottedPath]: number };
  /** Sets the field if the new value is less. */
  readonly $min?: Values<T>;
  /** Sets the field if the new value is greater. */
  readonly $max?: Values<T>;
  readonly $push?: {
    readonly [P in ArrayFields<T>]?:
      | Item<T[P]>
      | {
          readonly $each: Item<T[P]>[];
          /** Keeps this many items: the first ones, or with a negative number the last ones. */
          readonly $slice?: number;
        };
  } & { readonly [path: DottedPath]: unknown };
  /** Removes the matching items. */
  readonly $pull?: { readonly [P in ArrayFields<T>]?: ItemCondition<Item<T[P]>> };
}

/** Fields in order of weight: 1 ascending, -1 descending. */
export type Sort = Readonly<Record<string, 1 | -1>>;

/** Fields to return (1) or to leave out (0); `_id` is returned unless it is left out. */
export type Projection = Readonly<Record<string, 0 | 1>>;

interface Timed {
  /** Time limit in MongoDB; milliseconds. bounded.ts sets it. */
  readonly maxTimeMS?: number;
}

export interface FindOptions extends Timed {
  readonly sort?: Sort;
  readonly projection?: Projection;
  readonly skip?: number;
  /** 0: no limit. */
  readonly limit?: number;
}

export interface CountOptions extends Timed {
  /** Counting stops at this number. */
  readonly limit?: number;
}

export interface UpdateOptions extends Timed {
  /** Inserts a document if none matches. */
  readonly upsert?: boolean;
}

export interface FindOneAndUpdateOptions extends UpdateOptions {
  /** Default 'before'. */
  readonly returnDocument?: 'before' | 'after';
  /** If several documents match, changes the first one in this order. */
  readonly sort?: Sort;
  readonly projection?: Projection;
}

export interface BulkOptions extends Timed {
  /** False: continues after an error. Default true: stops at the first error. */
  readonly ordered?: boolean;
}

/** One write of a bulk. */
export type BulkOperation<T> =
  | {
      readonly updateOne: {
        readonly filter: Filter<T>;
        readonly update: Update<T>;
        readonly upsert?: boolean;
      };
    }
  | { readonly updateMany: { readonly filter: Filter<T>; readonly update: Update<T> } }
  | { readonly deleteOne: { readonly filter: Filter<T> } };

/** Result of a bulk; ids by the position of their write in the bulk. */
export interface BulkResult {
  readonly insertedCount: number;
  readonly matchedCount: number;
  readonly modifiedCount: number;
  readonly deletedCount: number;
  readonly upsertedCount: number;
  readonly insertedIds: Readonly<Record<number, unknown>>;
  readonly upsertedIds: Readonly<Record<number, unknown>>;
}

export interface IndexDescription {
  readonly key: Sort;
  /** Default: fields and directions, joined by `_`. */
  readonly name?: string;
  readonly unique?: boolean;
  /** Excludes documents that have none of the fields. */
  readonly sparse?: boolean;
  /** Includes only matching documents. */
  readonly partialFilterExpression?: Readonly<Record<string, Condition<PlainValue>>>;
  /** Deletes documents this many seconds after the field's date. */
  readonly expireAfterSeconds?: number;
}
