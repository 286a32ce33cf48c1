import type { Document } from 'mongodb';
import { type Condition, implies, readConditions } from './conditions.ts';
import type { IndexSpec } from './index-spec.ts';
import { afterPrefix, encodeKey, typeOrder } from './order.ts';

/** A stretch of an index: from `lower` to before `upper`; keys in it share `prefixLength` bytes. */
export interface KeyRange {
  readonly lower: Uint8Array;
  readonly upper: Uint8Array;
  readonly prefixLength: number;
}

/** An index as the planner sees it. */
export interface PlannedIndex {
  readonly spec: IndexSpec;
  /** True when some document had an array in one of the fields. */
  readonly multikey: boolean;
}

/** Fields and directions (1, -1) to sort by. */
export type SortOrder = readonly (readonly [path: string, direction: 1 | -1])[];

/** How a query finds its documents; the filter is applied to what it finds. */
export type Plan<I extends PlannedIndex> =
  /** All documents, in their natural order. */
  | { readonly kind: 'scan' }
  | {
      readonly kind: 'index';
      readonly index: I;
      readonly ranges: readonly KeyRange[];
      readonly reverse: boolean;
      /** The walk (over several ranges: their merging) gives the wanted order. */
      readonly sorted: boolean;
    }
  /** What any of several plans finds (`$or`). */
  | { readonly kind: 'union'; readonly plans: readonly Plan<I>[] };

/** More ranges than this are not walked; the wider range before them is. */
const maxRanges = 1000;
/** Up to so many ranges are merged for their order. */
const maxMerged = 64;

/** Chooses the index that narrows the most and, where asked, gives the order. */
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
  const { ranges, points, bounded, single } = narrowed;
  const way = sort.length > 0 && !index.multikey ? sortDirection(sort, spec, points, single) : undefined;
  const sorted = sort.length === 0 || (way !== undefined && ranges.length <= maxMerged);
  const score =
    (spec.unique && points === spec.parts.length ? 1000 : 0) +
    points * 10 +
    // Alone a range narrows more than an order saves; behind equalities the order comes first.
    (bounded ? (points === 0 ? 8 : 5) : 0) +
    (sort.length > 0 && sorted ? 6 : 0) +
    (spec.partial ? 5 : 0);
  if (score === 0) return undefined;
  return { plan: { kind: 'index', index, ranges, reverse: way === -1, sorted }, score };
}

interface Narrowed {
  readonly ranges: KeyRange[];
  /** How many leading parts are fixed to values. */
  readonly points: number;
  readonly bounded: boolean;
  /** Paths fixed to exactly one value. */
  readonly single: ReadonlySet<string>;
}

function narrow(conditions: ReadonlyMap<string, Condition>, index: PlannedIndex): Narrowed | undefined {
  let prefixes: Uint8Array[] = [new Uint8Array(0)];
  const single = new Set<string>();
  let points = 0;
  for (const { path, direction } of index.spec.parts) {
    const condition = conditions.get(path);
    const values = condition?.points;
    if (values && !(index.multikey && values.some(Array.isArray))) {
      const keys = distinctKeys(values, direction);
      if (keys.length * prefixes.length > maxRanges) break;
      prefixes = prefixes.flatMap((prefix) => keys.map((key) => concat(prefix, key)));
      if (keys.length === 1) single.add(path);
      points += 1;
      continue;
    }
    if (!condition || (!condition.lower && !condition.upper)) break;
    const ranges = prefixes.map((prefix) => bound(prefix, condition, direction, index.multikey));
    return { ranges, points, bounded: true, single };
  }
  const ranges = prefixes.map((prefix) => ({
    lower: prefix,
    upper: afterPrefix(prefix),
    prefixLength: prefix.length,
  }));
  return { ranges, points, bounded: false, single };
}

/** The stretch after `prefix` within the bounds and their type. */
function bound(prefix: Uint8Array, condition: Condition, direction: 1 | -1, multikey: boolean): KeyRange {
  // In an array one item may meet the one bound and another the other: only one of them narrows.
  const upper = multikey && condition.lower ? undefined : condition.upper;
  const type = typeOrder((condition.lower ?? condition.upper)?.value);
  const key = (value: unknown) => concat(prefix, oriented(encodeKey(value), direction));
  const first = condition.lower;
  const [low, high] = direction === 1 ? [first, upper] : [upper, first];
  const ofType = concat(prefix, oriented(Uint8Array.of(type), direction));
  const from = low ? key(low.value) : ofType;
  const to = high ? key(high.value) : ofType;
  return {
    lower: low && !low.inclusive ? afterPrefix(from) : from,
    upper: high && !high.inclusive ? to : afterPrefix(to),
    prefixLength: prefix.length,
  };
}

/** 1 or -1 when walking the index so gives the order; undefined when it does not. */
function sortDirection(
  sort: SortOrder,
  spec: IndexSpec,
  points: number,
  single: ReadonlySet<string>,
): 1 | -1 | undefined {
  // Parts fixed to one of several values do not disturb the order: their ranges are merged.
  let at = points;
  let way: 1 | -1 | undefined;
  for (const [path, direction] of sort) {
    if (single.has(path)) continue;
    const part = spec.parts[at];
    if (!part || part.path !== path) return undefined;
    const needed = part.direction === direction ? 1 : -1;
    if (way !== undefined && way !== needed) return undefined;
    way = needed;
    at += 1;
  }
  return way ?? 1;
}

function distinctKeys(values: readonly unknown[], direction: 1 | -1): Uint8Array[] {
  const keys = values.map((value) => oriented(encodeKey(value), direction));
  if (keys.length < 2) return keys;
  keys.sort(Buffer.compare);
  return keys.filter((key, i) => i === 0 || Buffer.compare(key, keys[i - 1] as Uint8Array) !== 0);
}

function oriented(key: Uint8Array, direction: 1 | -1): Uint8Array {
  return direction === 1 ? key : key.map((byte) => ~byte & 0xff);
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
