import type { WithId } from 'mongodb';

/**
 * The part of MongoDB's query language that services use. MongoDB and the embedded store both know all
 * of it (services/embedded/README.md), and the compiler refuses the rest: a new operator is added here,
 * in services/embedded and to the contract suite. Names of operators and options are bounded; values of
 * top-level fields have the document's types, values at dotted paths are only known to be plain.
 */

/** A dotted path into a document: `activation.epoch`, `places.$.untilMs`. */
type DottedPath = `${string}.${string}`;

/** A value that a filter may compare a dotted path with. */
type PlainValue = string | number | boolean | Date | null;

/** What a field is compared with: an array's field with the whole array, or with one of its items. */
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
  /** The number of an array's items. */
  readonly $size?: V extends readonly unknown[] ? number : never;
  readonly $not?: V extends unknown ? FieldOperators<V> : never;
}

/** A value to be equal to, or operators. */
type Condition<V> = Comparable<V> | FieldOperators<Comparable<V>>;

/** Which documents are meant. */
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

/** Which items of an array are meant: by fields to be equal to, or by operators on fields. */
type ItemCondition<I> = Partial<I> | { readonly [P in keyof I]?: FieldOperators<I[P]> };

/** A change of a document. In a dotted path `$` is the place of the array's item that the filter met. */
export interface Update<T> {
  readonly $set?: Values<T>;
  /** Applies when an upsert inserts the document. */
  readonly $setOnInsert?: Values<T>;
  readonly $unset?: { readonly [P in keyof T]?: '' | true } & { readonly [path: DottedPath]: '' | true };
  readonly $inc?: { readonly [P in NumberFields<T>]?: number } & { readonly [path: DottedPath]: number };
  /** Sets what is less than the field's value. */
  readonly $min?: Values<T>;
  /** Sets what is greater than the field's value. */
  readonly $max?: Values<T>;
  readonly $push?: {
    readonly [P in ArrayFields<T>]?:
      | Item<T[P]>
      | {
          readonly $each: Item<T[P]>[];
          /** Keeps that many items: the first ones, or with a negative number the last ones. */
          readonly $slice?: number;
        };
  } & { readonly [path: DottedPath]: unknown };
  /** Removes the items that fit. */
  readonly $pull?: { readonly [P in ArrayFields<T>]?: ItemCondition<Item<T[P]>> };
}

/** Fields in order of weight: 1 ascending, -1 descending. */
export type Sort = Readonly<Record<string, 1 | -1>>;

/** Fields to answer (1) or to leave out (0); `_id` is answered unless it is left out. */
export type Projection = Readonly<Record<string, 0 | 1>>;

interface Timed {
  /** How long MongoDB works on it at most; milliseconds. bounded.ts sets it. */
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
  /** Counting stops there. */
  readonly limit?: number;
}

export interface UpdateOptions extends Timed {
  /** Inserts a document where none fits. */
  readonly upsert?: boolean;
}

export interface FindOneAndUpdateOptions extends UpdateOptions {
  /** Default 'before'. */
  readonly returnDocument?: 'before' | 'after';
  /** The first in this order is changed. */
  readonly sort?: Sort;
  readonly projection?: Projection;
}

export interface BulkOptions extends Timed {
  /** False: continues after an error. Default true: stops at the first. */
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

/** What a bulk did; ids by the place of their write in the bulk. */
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
  /** Leaves out documents that have none of the fields. */
  readonly sparse?: boolean;
  /** Only documents that fit are in the index. */
  readonly partialFilterExpression?: Readonly<Record<string, Condition<PlainValue>>>;
  /** Documents are deleted so many seconds after the field's date. */
  readonly expireAfterSeconds?: number;
}
