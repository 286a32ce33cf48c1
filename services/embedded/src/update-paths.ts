import type { Document } from 'mongodb';
import { compileFilter } from './filter.ts';
import { plainValueAt } from './paths.ts';
import { serverError } from './store-errors.ts';
import { isDocument } from './values.ts';

/** Replaces each `$` in a path by an array index. `find` returns the index for the path of the array before the `$`. */
export function matchedPath(parts: readonly string[], find: (arrayPath: string) => number): string[] {
  const path: string[] = [];
  for (const part of parts) path.push(part === '$' ? String(find(path.join('.'))) : part);
  return path;
}

/**
 * Returns a function that maps an array's path to the index of the first item that meets the filter's conditions on the
 * array. The index is cached, so that all changes of one update apply to the same item. Throws MongoDB's error if the
 * filter has no condition on the array, or no item meets the conditions.
 */
export function positionFinder(document: Document, filter: Document): (arrayPath: string) => number {
  const found = new Map<string, number>();
  const search = (arrayPath: string): number => {
    const array = plainValueAt(document, arrayPath.split('.'));
    const conditions = conditionsOn(filter, arrayPath);
    const fits = compileFilter({ $and: conditions.length > 0 ? conditions : [{}] });
    const at =
      conditions.length > 0 && Array.isArray(array) ? array.findIndex((item) => fits({ items: [item] })) : -1;
    if (at === -1) {
      throw serverError('badValue', 'The positional operator did not find the match needed from the query.');
    }
    return at;
  };
  return (arrayPath) => {
    const known = found.get(arrayPath) ?? search(arrayPath);
    found.set(arrayPath, known);
    return known;
  };
}

/** The filter's conditions on an array, rewritten for a document with the array in its field `items`. */
function conditionsOn(filter: Document, arrayPath: string): Document[] {
  return Object.entries(filter).flatMap(([path, condition]): Document[] => {
    if (path === '$and' && Array.isArray(condition)) {
      return condition.flatMap((part) => (isDocument(part) ? conditionsOn(part, arrayPath) : []));
    }
    if (path === arrayPath) return [{ items: condition }];
    if (path.startsWith(`${arrayPath}.`)) return [{ [`items${path.slice(arrayPath.length)}`]: condition }];
    return [];
  });
}
