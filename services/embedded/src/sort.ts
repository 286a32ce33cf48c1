import type { Document } from 'mongodb';
import { indexValues } from './index-spec.ts';
import { compareValues, KeyWriter } from './order.ts';
import { splitPath } from './paths.ts';
import type { SortOrder } from './planner.ts';
import { serverError } from './store-errors.ts';

/** Reads the option `sort`. Throws the server's error for a direction other than 1 and -1. */
export function readSort(sort: Readonly<Record<string, unknown>> | undefined): SortOrder {
  return Object.entries(sort ?? {}).map(([path, direction]) => {
    if (direction !== 1 && direction !== -1) {
      throw serverError('badValue', `Illegal sort direction for ${path}: ${String(direction)}`);
    }
    return [path, direction] as const;
  });
}

/** Sorts as MongoDB does: an array is sorted by its smallest item, in a descending sort by its greatest item. */
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
