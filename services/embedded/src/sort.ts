import type { Document, Sort } from 'mongodb';
import { indexValues } from './index-spec.ts';
import { compareValues, KeyWriter } from './order.ts';
import { splitPath } from './paths.ts';
import type { SortOrder } from './planner.ts';
import { serverError } from './store-errors.ts';

const directions: ReadonlyMap<unknown, 1 | -1> = new Map<unknown, 1 | -1>([
  [1, 1],
  ['1', 1],
  ['asc', 1],
  ['ascending', 1],
  [-1, -1],
  ['-1', -1],
  ['desc', -1],
  ['descending', -1],
]);

/** Reads each of the forms of the driver's `sort` option. */
export function readSort(sort: Sort | undefined): SortOrder {
  if (sort === undefined || sort === null) return [];
  return pairs(sort).map(([path, value]) => {
    const direction = directions.get(typeof value === 'string' ? value.toLowerCase() : value);
    if (!direction) throw serverError('badValue', `Illegal sort direction for ${path}: ${String(value)}`);
    return [path, direction] as const;
  });
}

function pairs(sort: Sort): (readonly [string, unknown])[] {
  if (typeof sort === 'string') return [[sort, 1]];
  if (sort instanceof Map) return [...sort];
  if (!Array.isArray(sort)) return Object.entries(sort);
  if (sort.length === 0) return [];
  if (Array.isArray(sort[0])) return (sort as [string, unknown][]).map(([path, way]) => [path, way]);
  const isPair = sort.length === 2 && directions.has(sort[1]);
  return isPair ? [[String(sort[0]), sort[1]]] : sort.map((path) => [String(path), 1] as const);
}

/** Sorts as MongoDB does: an array counts by its least item, or when descending by its greatest. */
export function sortDocuments<T extends { readonly document: Document }>(items: T[], order: SortOrder): T[] {
  const writer = new KeyWriter();
  const parts = order.map(([path, direction]) => ({ parts: splitPath(path), direction }));
  const keyed = items.map((item) => {
    for (const { parts: path, direction } of parts) {
      writer.part(sortValue(item.document, path, direction), direction);
    }
    return { item, key: writer.take() };
  });
  return keyed.sort((a, b) => Buffer.compare(a.key, b.key)).map(({ item }) => item);
}

function sortValue(document: Document, path: readonly string[], direction: 1 | -1): unknown {
  const values: unknown[] = [];
  indexValues(document, path, 0, values);
  let best = values[0];
  for (let i = 1; i < values.length; i++) {
    if (direction * compareValues(values[i], best) < 0) best = values[i];
  }
  return best;
}
