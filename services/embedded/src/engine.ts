import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import { type Document, ObjectId } from 'mongodb';
import type { Catalogue } from './catalogue.ts';
import type { EmbeddedDatabase } from './database.ts';
import type { DocumentCache } from './document-cache.ts';
import { DocumentTable } from './document-table.ts';
import { compileFilter, isOperators } from './filter.ts';
import type { IndexBuffer } from './index-buffer.ts';
import { indexIdentity, parseIndex } from './index-spec.ts';
import { type IdTable, type IndexTable, scanMerged, scanRange } from './index-table.ts';
import { encodeKey } from './order.ts';
import { type Plan, planQuery, type SortOrder } from './planner.ts';
import { sortDocuments } from './sort.ts';
import { serverError } from './store-errors.ts';
import { compileUpdate, upsertBase } from './update.ts';

/** A document that a query found. The cache owns it: do not change it. */
export interface Match {
  readonly rid: number;
  readonly document: Document;
}

/** Counters of what queries read, with which tests verify the use of an index. */
export interface QueryStatistics {
  documentsExamined: number;
  keysExamined: number;
}

/** A change of the first matching document, or with `many` of all; filter and change are normalised. */
export interface UpdateRequest {
  readonly filter: Document;
  /** Update operators. */
  readonly change: Document;
  readonly many?: boolean;
  readonly upsert?: boolean;
  readonly sort?: SortOrder;
}

/** Result of a change; `before` and `after` are the last matched document, before and after the change. */
export interface UpdateOutcome {
  matched: number;
  modified: number;
  upsertedId?: unknown;
  before?: Document;
  after?: Document;
}

/**
 * One collection's operations, all synchronous. The caller normalises filters, changes and documents
 * (values.ts). Call writes inside `EmbeddedDatabase.write`; a change of one document that
 * throws has written nothing.
 */
export class CollectionEngine {
  readonly namespace: string;
  readonly #db: EmbeddedDatabase;
  readonly #catalogue: Catalogue;
  readonly #cache: DocumentCache;
  readonly #buffer: IndexBuffer;
  readonly #statistics: QueryStatistics;
  #table: DocumentTable | undefined;
  /**
   * By `_id` (idKey): the number of the transaction that wrote the document last, in the order of these numbers. Durable
   * entries are removed.
   */
  readonly #written = new Map<unknown, number>();
  #writtenIn = 0;

  constructor(
    db: EmbeddedDatabase,
    catalogue: Catalogue,
    cache: DocumentCache,
    buffer: IndexBuffer,
    namespace: string,
    statistics: QueryStatistics,
  ) {
    this.#db = db;
    this.#catalogue = catalogue;
    this.#cache = cache;
    this.#buffer = buffer;
    this.#statistics = statistics;
    this.namespace = namespace;
    db.onUndo(() => {
      // The table is opened again from the stored data: documents, indexes, and which of them contain arrays.
      this.#table?.forget();
      this.#table = undefined;
    });
  }

  /** Number of documents written here. If a change throws and the number is unchanged, it has written nothing. */
  get written(): number {
    return this.#table?.written ?? 0;
  }

  /** True while a write here (with `id`: of that document) is not durable. */
  isUncommitted(id?: unknown): boolean {
    if (this.#writtenIn <= this.#db.durable) return false;
    return id === undefined || (this.#written.get(idKey(id)) ?? 0) > this.#db.durable;
  }

  /** The matching documents, read on demand: writes may happen between two of them. */
  *find(filter: Document, sort: SortOrder): Generator<Match> {
    const fits = compileFilter(filter);
    const table = this.#open();
    if (!table) return;
    const id = filter['_id'];
    if (isPlainId(id)) {
      const match = this.#byId(table, id, fits);
      if (match) yield match;
      return;
    }
    const ids = sort.length === 0 ? plainIdsOf(id) : undefined;
    if (ids) {
      yield* this.#named(table, ids, fits);
      return;
    }
    const plan = planQuery<IdTable | IndexTable>(filter, sort, [table.ids, ...table.indexes]);
    const found = this.#fitting(table, plan, fits);
    if (sort.length === 0 || (plan.kind === 'index' && plan.sorted)) yield* found;
    else yield* sortDocuments([...found], sort);
  }

  /** The first matching document. */
  findOne(filter: Document, sort: SortOrder): Match | undefined {
    if (!isPlainId(filter['_id'])) return this.find(filter, sort).next().value ?? undefined;
    const fits = compileFilter(filter);
    const table = this.#open();
    return table && this.#byId(table, filter['_id'], fits);
  }

  /** Number of matching documents, at most `limit`. */
  count(filter: Document, limit: number): number {
    if (Object.keys(filter).length === 0) return Math.min(this.#open()?.count() ?? 0, limit);
    let count = 0;
    for (const _ of this.find(filter, [])) {
      count += 1;
      if (count >= limit) break;
    }
    return count;
  }

  insert(document: Document): void {
    const { _id } = document;
    if (_id === undefined || Array.isArray(_id) || _id instanceof RegExp) {
      throw serverError('invalidIdField', "The '_id' value cannot be of type array, regex or undefined");
    }
    const table = this.#ensure();
    table.insert(Object.keys(document)[0] === '_id' ? document : { _id, ...document });
    this.#note(_id);
  }

  update(request: UpdateRequest): UpdateOutcome {
    const { filter, change, sort = [] } = request;
    const apply = compileUpdate(change, filter);
    const outcome: UpdateOutcome = { matched: 0, modified: 0 };
    const table = this.#open();
    // Finds all documents before the first change, because the scan could find a changed document again.
    for (const { rid, document } of this.#toChange(filter, sort, request.many === true)) {
      // Both documents share their unchanged parts, so neither may be modified after this point.
      const next = { ...document };
      const touched = apply(next, false);
      outcome.matched += 1;
      outcome.before = document;
      outcome.after = document;
      if (touched.length === 0) continue;
      (table as DocumentTable).replace(rid, document, next, touched);
      this.#note(document['_id']);
      outcome.modified += 1;
      outcome.after = next;
    }
    if (outcome.matched === 0 && request.upsert) this.#upsert(request, outcome);
    return outcome;
  }

  #toChange(filter: Document, sort: SortOrder, many: boolean): readonly Match[] {
    if (many) return [...this.find(filter, sort)];
    const match = this.findOne(filter, sort);
    return match ? [match] : [];
  }

  /** Removes at most `most` of the matching documents; returns their number. */
  remove(filter: Document, most: number): number {
    const found = take(this.find(filter, []), most);
    for (const { rid, document } of found) {
      this.#note(document['_id']);
      this.#table?.remove(rid, document);
    }
    return found.length;
  }

  /** Creates the missing indexes; returns the names of all. If it throws, none is created. */
  createIndexes(descriptions: readonly IndexDescription[]): string[] {
    const table = this.#ensure();
    return descriptions.map((description) => {
      const spec = parseIndex(description);
      if (!this.#exists(table, description)) table.addIndex(description);
      return spec.name;
    });
  }

  /** Indexes with an expiry. */
  expiringIndexes(): readonly IndexTable[] {
    return (this.#open()?.indexes ?? []).filter((index) => index.spec.expireAfterSeconds !== undefined);
  }

  #exists(table: DocumentTable, description: IndexDescription): boolean {
    const spec = parseIndex(description);
    const wanted = indexIdentity(spec);
    for (const index of table.indexes) {
      const known = indexIdentity(index.spec);
      const same = known.key === wanted.key && known.options === wanted.options;
      if (index.spec.name === spec.name) {
        if (same) return true;
        throw serverError(
          'indexKeySpecsConflict',
          `An existing index has the same name as the requested index: ${spec.name}, but another specification. Drop it first.`,
        );
      }
      if (known.key === wanted.key && JSON.stringify(known) === JSON.stringify(wanted)) {
        throw serverError(
          'indexOptionsConflict',
          `Index already exists with a different name: ${index.spec.name}`,
        );
      }
    }
    return false;
  }

  #upsert({ filter, change }: UpdateRequest, outcome: UpdateOutcome): void {
    const made = upsertBase(filter);
    compileUpdate(change, filter)(made, true);
    const { _id = new ObjectId(), ...rest } = made;
    const document = { _id, ...rest };
    this.insert(document);
    outcome.upsertedId = _id;
    outcome.after = document;
  }

  #byId(table: DocumentTable, id: unknown, fits: (document: Document) => boolean): Match | undefined {
    const rid = table.ridOfId(id);
    const match = rid === undefined ? undefined : this.#read(table, rid);
    return match && fits(match.document) ? match : undefined;
  }

  /** The documents with these ids that match, in the order of their ids, as in an index. */
  *#named(
    table: DocumentTable,
    ids: readonly unknown[],
    fits: (document: Document) => boolean,
  ): Generator<Match> {
    for (const id of inOrder(ids)) {
      const match = this.#byId(table, id, fits);
      if (match) yield match;
    }
  }

  *#fitting(
    table: DocumentTable,
    plan: Plan<IdTable | IndexTable>,
    fits: (document: Document) => boolean,
  ): Generator<Match> {
    for (const rid of this.#rids(table, plan)) {
      const match = this.#read(table, rid);
      if (match && fits(match.document)) yield match;
    }
  }

  *#rids(table: DocumentTable, plan: Plan<IdTable | IndexTable>): Generator<number> {
    if (plan.kind === 'scan') {
      yield* table.scan();
      return;
    }
    const seen = new Set<number>();
    if (plan.kind === 'union') {
      for (const part of plan.plans) {
        for (const rid of this.#rids(table, part)) {
          if (!seen.has(rid)) yield rid;
          seen.add(rid);
        }
      }
      return;
    }
    const { index, ranges, reverse, sorted } = plan;
    const merged = sorted && ranges.length > 1 && ranges.length <= 64;
    const scans = merged
      ? [scanMerged(index, ranges, reverse)]
      : ranges.map((range) => scanRange(index, range, reverse));
    for (const scan of scans) {
      for (const { rid } of scan) {
        this.#statistics.keysExamined += 1;
        if (index.multikey) {
          if (seen.has(rid)) continue;
          seen.add(rid);
        }
        yield rid;
      }
    }
  }

  #read(table: DocumentTable, rid: number): Match | undefined {
    this.#statistics.documentsExamined += 1;
    const document = table.read(rid);
    return document && { rid, document };
  }

  #note(id: unknown): void {
    const { transaction, durable } = this.#db;
    if (this.#writtenIn !== transaction) {
      for (const [key, writtenIn] of this.#written) {
        if (writtenIn > durable) break;
        this.#written.delete(key);
      }
      this.#writtenIn = transaction;
    }
    const key = idKey(id);
    this.#written.delete(key);
    this.#written.set(key, transaction);
  }

  #open(): DocumentTable | undefined {
    if (!this.#table) {
      const number = this.#catalogue.find(this.namespace);
      if (number !== undefined) {
        this.#table = new DocumentTable(
          this.#db,
          this.#catalogue,
          this.#cache,
          this.#buffer,
          this.namespace,
          number,
        );
      }
    }
    return this.#table;
  }

  #ensure(): DocumentTable {
    const table = this.#open();
    if (table) return table;
    this.#catalogue.add(this.namespace);
    return this.#open() as DocumentTable;
  }
}

/** True for an `_id` that a filter compares for equality, so that at most one document matches. */
export function isPlainId(id: unknown): boolean {
  return id !== undefined && id !== null && !Array.isArray(id) && !(id instanceof RegExp) && !isOperators(id);
}

/** The values of `{ $in: [...] }`, if that is the whole condition and each value is a plain id. */
function plainIdsOf(condition: unknown): readonly unknown[] | undefined {
  if (!isOperators(condition)) return undefined;
  const { $in, ...others } = condition as { $in?: unknown };
  return Array.isArray($in) && Object.keys(others).length === 0 && $in.every(isPlainId) ? $in : undefined;
}

/** Each id once, in the order of their keys. */
function inOrder(ids: readonly unknown[]): readonly unknown[] {
  if (ids.length < 2) return ids;
  const keyed = ids.map((id) => ({ id, key: encodeKey(id) })).sort((a, b) => Buffer.compare(a.key, b.key));
  return keyed
    .filter(({ key }, i) => i === 0 || Buffer.compare(key, keyed[i - 1]?.key as Uint8Array) !== 0)
    .map(({ id }) => id);
}

function take<T>(items: Generator<T>, most: number): T[] {
  const taken: T[] = [];
  if (most < 1) return taken;
  for (const item of items) {
    taken.push(item);
    if (taken.length >= most) break;
  }
  return taken;
}

/** Equal for equal `_id`s: the `_id` itself if it is a string or an integer. */
function idKey(id: unknown): unknown {
  if (typeof id === 'string' || Number.isSafeInteger(id)) return id;
  const bytes = encodeKey(id);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
