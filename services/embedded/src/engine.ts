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

/** A document that a query found, with its record number. The cache shares the document: do not change it. */
export interface Match {
  readonly rid: number;
  readonly document: Document;
}

/** Counters of what queries read. Tests use them to verify that an index is used. */
export interface QueryStatistics {
  documentsExamined: number;
  keysExamined: number;
}

/** A change of the first matching document, or with `many` of all. Filter and change are normalised. */
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
   * Number of the last transaction that wrote a document, by `idKey` of its `_id`. Ordered by transaction, oldest
   * first. Entries of durable transactions are removed.
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
      // The next operation opens the table again from the stored data.
      this.#table?.clearCaches();
      this.#table = undefined;
    });
  }

  /** Number of documents written here. If a change throws and the number is unchanged, it has written nothing. */
  get written(): number {
    return this.#table?.written ?? 0;
  }

  /** True while a write of this collection, or with `id` of this document, is not durable. */
  hasPendingWrites(id?: unknown): boolean {
    if (this.#writtenIn <= this.#db.durable) return false;
    return id === undefined || (this.#written.get(idKey(id)) ?? 0) > this.#db.durable;
  }

  /** The matching documents, read on demand. Writes may happen while the caller iterates. */
  *find(filter: Document, sort: SortOrder): Generator<Match> {
    const matches = compileFilter(filter);
    const table = this.#open();
    if (!table) return;
    const id = filter['_id'];
    if (isPlainId(id)) {
      const match = this.#byId(table, id, matches);
      if (match) yield match;
      return;
    }
    const ids = sort.length === 0 ? plainIdsOf(id) : undefined;
    if (ids) {
      yield* this.#byIds(table, ids, matches);
      return;
    }
    const plan = planQuery<IdTable | IndexTable>(filter, sort, [table.ids, ...table.indexes]);
    const found = this.#matching(table, plan, matches);
    if (sort.length === 0 || (plan.kind === 'index' && plan.sorted)) yield* found;
    else yield* sortDocuments([...found], sort);
  }

  /** The first matching document. */
  findOne(filter: Document, sort: SortOrder): Match | undefined {
    if (!isPlainId(filter['_id'])) return this.find(filter, sort).next().value ?? undefined;
    const matches = compileFilter(filter);
    const table = this.#open();
    return table && this.#byId(table, filter['_id'], matches);
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
    const table = this.#openOrCreate();
    table.insert(Object.keys(document)[0] === '_id' ? document : { _id, ...document });
    this.#recordWrite(_id);
  }

  update(request: UpdateRequest): UpdateOutcome {
    const { filter, change, sort = [] } = request;
    const apply = compileUpdate(change, filter);
    const outcome: UpdateOutcome = { matched: 0, modified: 0 };
    const table = this.#open();
    // All documents are found before the first change. Otherwise the scan could find a changed document again.
    for (const { rid, document } of this.#documentsToUpdate(filter, sort, request.many === true)) {
      // Both documents share their unchanged parts, so neither may be modified after this point.
      const next = { ...document };
      const changedFields = apply(next, false);
      outcome.matched += 1;
      outcome.before = document;
      outcome.after = document;
      if (changedFields.length === 0) continue;
      (table as DocumentTable).replace(rid, document, next, changedFields);
      this.#recordWrite(document['_id']);
      outcome.modified += 1;
      outcome.after = next;
    }
    if (outcome.matched === 0 && request.upsert) this.#upsert(request, outcome);
    return outcome;
  }

  #documentsToUpdate(filter: Document, sort: SortOrder, many: boolean): readonly Match[] {
    if (many) return [...this.find(filter, sort)];
    const match = this.findOne(filter, sort);
    return match ? [match] : [];
  }

  /** Removes at most `max` of the matching documents. Returns their number. */
  remove(filter: Document, max: number): number {
    const found = take(this.find(filter, []), max);
    for (const { rid, document } of found) {
      this.#recordWrite(document['_id']);
      this.#table?.remove(rid, document);
    }
    return found.length;
  }

  /** Creates the missing indexes. Returns the names of all. If it throws, the caller must undo the write. */
  createIndexes(descriptions: readonly IndexDescription[]): string[] {
    const table = this.#openOrCreate();
    return descriptions.map((description) => {
      const spec = parseIndex(description);
      if (!this.#indexExists(table, description)) table.addIndex(description);
      return spec.name;
    });
  }

  /** Indexes with an expiry. */
  expiringIndexes(): readonly IndexTable[] {
    return (this.#open()?.indexes ?? []).filter((index) => index.spec.expireAfterSeconds !== undefined);
  }

  #indexExists(table: DocumentTable, description: IndexDescription): boolean {
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
    const created = upsertBase(filter);
    compileUpdate(change, filter)(created, true);
    const { _id = new ObjectId(), ...rest } = created;
    const document = { _id, ...rest };
    this.insert(document);
    outcome.upsertedId = _id;
    outcome.after = document;
  }

  #byId(table: DocumentTable, id: unknown, matches: (document: Document) => boolean): Match | undefined {
    const rid = table.ridOfId(id);
    const match = rid === undefined ? undefined : this.#read(table, rid);
    return match && matches(match.document) ? match : undefined;
  }

  /** The matching documents with these ids, ordered by id, as an index would return them. */
  *#byIds(
    table: DocumentTable,
    ids: readonly unknown[],
    matches: (document: Document) => boolean,
  ): Generator<Match> {
    for (const id of sortedDistinct(ids)) {
      const match = this.#byId(table, id, matches);
      if (match) yield match;
    }
  }

  *#matching(
    table: DocumentTable,
    plan: Plan<IdTable | IndexTable>,
    matches: (document: Document) => boolean,
  ): Generator<Match> {
    for (const rid of this.#rids(table, plan)) {
      const match = this.#read(table, rid);
      if (match && matches(match.document)) yield match;
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

  #recordWrite(id: unknown): void {
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

  #openOrCreate(): DocumentTable {
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
function sortedDistinct(ids: readonly unknown[]): readonly unknown[] {
  if (ids.length < 2) return ids;
  const keyed = ids.map((id) => ({ id, key: encodeKey(id) })).sort((a, b) => Buffer.compare(a.key, b.key));
  return keyed
    .filter(({ key }, i) => i === 0 || Buffer.compare(key, keyed[i - 1]?.key as Uint8Array) !== 0)
    .map(({ id }) => id);
}

function take<T>(items: Generator<T>, max: number): T[] {
  const taken: T[] = [];
  if (max < 1) return taken;
  for (const item of items) {
    taken.push(item);
    if (taken.length >= max) break;
  }
  return taken;
}

/** Map key of an `_id`, the same for equal `_id`s: the `_id` itself if it is a string or an integer. */
function idKey(id: unknown): unknown {
  if (typeof id === 'string' || Number.isSafeInteger(id)) return id;
  const bytes = encodeKey(id);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
