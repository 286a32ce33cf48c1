import type { Document } from 'mongodb';
import { type Condition, implies, readConditions } from './conditions.ts';
import type { IndexSpec } from './index-spec.ts';
import { afterPrefix, encodeKey, typeOrder } from './order.ts';

/** A range of index keys, `lower` inclusive, `upper` exclusive; the first `prefixLength` bytes of all are equal. */
export interface KeyRange {
  readonly lower: Uint8Array;
  readonly upper: Uint8Array;
  readonly prefixLength: number;
}

/** Properties of an index that the planner uses. */
export interface PlannedIndex {
  readonly spec: IndexSpec;
  /** True if a document has, or had, an array in one of the fields. Such a document may have several keys. */
  readonly multikey: boolean;
}

/** Fields to sort by, the most significant first. 1: ascending, -1: descending. */
export type SortOrder = readonly (readonly [path: string, direction: 1 | -1])[];

/** How a query finds candidates. The filter is then applied to each candidate. */
export type Plan<I extends PlannedIndex> =
  /** Every document of the collection, in the order of insertion. */
  | { readonly kind: 'scan' }
  | {
      readonly kind: 'index';
      readonly index: I;
      readonly ranges: readonly KeyRange[];
      /** Scans from the last key to the first. */
      readonly reverse: boolean;
      /** True if the range scan (of several ranges: merged) returns documents in the query's sort order. */
      readonly sorted: boolean;
    }
  /** The documents of several plans, one plan for each branch of an `$or`. */
  | { readonly kind: 'union'; readonly plans: readonly Plan<I>[] };

/** Maximum number of ranges in a plan. A field that would exceed it, and the fields after it, are not used. */
const maxRanges = 1000;
/** Maximum number of ranges that are merged into one order. */
const maxMerged = 64;

/** Chooses the index that leaves the fewest documents to read and, if possible, returns them sorted. */
export function planQuery<I extends PlannedIndex>(
  filter: Document,
  sort: SortOrder,
  indexes: readonly I[],
): Plan<I> {
  const conditions = readConditions(filter);
  let best: { plan: Plan<I>; score: number } = { plan: { kind: 'scan' }, score: 0 };
  for (const index of indexes) {
    const candidate = planIndex(conditions, sort, index);
    if (candidate && candidate.score > best.score) best = candidate;
  }
  if (best.plan.kind === 'scan' && Array.isArray(filter['$or'])) {
    const { $or, ...rest } = filter;
    const plans = ($or as Document[]).map((part) => planQuery({ $and: [part, rest] }, [], indexes));
    if (plans.every((plan) => plan.kind !== 'scan')) return { kind: 'union', plans };
  }
  return best.plan;
}

function planIndex<I extends PlannedIndex>(
  conditions: ReadonlyMap<string, Condition>,
  sort: SortOrder,
  index: I,
): { plan: Plan<I>; score: number } | undefined {
  const { spec } = index;
  if (spec.partial && !implies(conditions, spec.partial)) return undefined;
  if (spec.sparse && !spec.parts.some((part) => conditions.get(part.path)?.present)) return undefined;
  const narrowed = narrow(conditions, index);
  if (!narrowed) return undefined;
  const { ranges, equalityCount, bounded, singleValued } = narrowed;
  const scanDirection =
    sort.length > 0 && !index.multikey ? sortDirection(sort, spec, equalityCount, singleValued) : undefined;
  const sorted = sort.length === 0 || (scanDirection !== undefined && ranges.length <= maxMerged);
  const score =
    (spec.unique && equalityCount === spec.parts.length ? 1000 : 0) +
    equalityCount * 10 +
    // A range on the first field saves more work than a sorted result. After equalities, the sorted result saves more.
    (bounded ? (equalityCount === 0 ? 8 : 5) : 0) +
    (sort.length > 0 && sorted ? 6 : 0) +
    (spec.partial ? 5 : 0);
  if (score === 0) return undefined;
  return { plan: { kind: 'index', index, ranges, reverse: scanDirection === -1, sorted }, score };
}

interface Narrowed {
  readonly ranges: KeyRange[];
  /** Number of leading index fields that the filter compares for equality, with one or several values. */
  readonly equalityCount: number;
  /** True if the next field has a lower or an upper bound. */
  readonly bounded: boolean;
  /** Paths that the filter compares for equality with exactly one value. */
  readonly singleValued: ReadonlySet<string>;
}

function narrow(conditions: ReadonlyMap<string, Condition>, index: PlannedIndex): Narrowed | undefined {
  let prefixes: Uint8Array[] = [new Uint8Array(0)];
  const singleValued = new Set<string>();
  let equalityCount = 0;
  for (const { path, direction } of index.spec.parts) {
    const condition = conditions.get(path);
    const values = condition?.equalTo;
    if (values && !(index.multikey && values.some(Array.isArray))) {
      const keys = distinctKeys(values, direction);
      if (keys.length * prefixes.length > maxRanges) break;
      prefixes = prefixes.flatMap((prefix) => keys.map((key) => concat(prefix, key)));
      if (keys.length === 1) singleValued.add(path);
      equalityCount += 1;
      continue;
    }
    if (!condition || (!condition.lower && !condition.upper)) break;
    const ranges = prefixes.map((prefix) => boundedRange(prefix, condition, direction, index.multikey));
    return { ranges, equalityCount, bounded: true, singleValued };
  }
  const ranges = prefixes.map((prefix) => ({
    lower: prefix,
    upper: afterPrefix(prefix),
    prefixLength: prefix.length,
  }));
  return { ranges, equalityCount, bounded: false, singleValued };
}

/** The range of keys that begin with `prefix` and continue with a value of the bounds' type within the bounds. */
function boundedRange(
  prefix: Uint8Array,
  condition: Condition,
  direction: 1 | -1,
  multikey: boolean,
): KeyRange {
  // Different items of an array may meet the lower and the upper bound, so the index can use one bound only.
  const upper = multikey && condition.lower ? undefined : condition.upper;
  const type = typeOrder((condition.lower ?? condition.upper)?.value);
  const key = (value: unknown) => concat(prefix, inDirection(encodeKey(value), direction));
  const first = condition.lower;
  const [low, high] = direction === 1 ? [first, upper] : [upper, first];
  const ofType = concat(prefix, inDirection(Uint8Array.of(type), direction));
  const from = low ? key(low.value) : ofType;
  const to = high ? key(high.value) : ofType;
  return {
    lower: low && !low.inclusive ? afterPrefix(from) : from,
    upper: high && !high.inclusive ? to : afterPrefix(to),
    prefixLength: prefix.length,
  };
}

/** Scan direction in which the index returns the sort order: 1 forwards, -1 backwards; undefined if neither. */
function sortDirection(
  sort: SortOrder,
  spec: IndexSpec,
  equalityCount: number,
  singleValued: ReadonlySet<string>,
): 1 | -1 | undefined {
  // Leading fields with several values do not affect the order, because the ranges of the values are merged.
  let at = equalityCount;
  let scanDirection: 1 | -1 | undefined;
  for (const [path, direction] of sort) {
    if (singleValued.has(path)) continue;
    const part = spec.parts[at];
    if (!part || part.path !== path) return undefined;
    const needed = part.direction === direction ? 1 : -1;
    if (scanDirection !== undefined && scanDirection !== needed) return undefined;
    scanDirection = needed;
    at += 1;
  }
  return scanDirection ?? 1;
}

function distinctKeys(values: readonly unknown[], direction: 1 | -1): Uint8Array[] {
  const keys = values.map((value) => inDirection(encodeKey(value), direction));
  if (keys.length < 2) return keys;
  keys.sort(Buffer.compare);
  return keys.filter((key, i) => i === 0 || Buffer.compare(key, keys[i - 1] as Uint8Array) !== 0);
}

function inDirection(key: Uint8Array, direction: 1 | -1): Uint8Array {
  return direction === 1 ? key : key.map((byte) => ~byte & 0xff);
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
