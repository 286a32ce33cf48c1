import type { Document } from 'mongodb';
import { compileFilter } from './filter.ts';
import { plainValueAt } from './paths.ts';
import { serverError } from './store-errors.ts';
import { isDocument } from './values.ts';

/** The path with each `$` replaced by the array index that `find` answers for the array before it. */
export function matchedPath(parts: readonly string[], find: (arrayPath: string) => number): string[] {
  const path: string[] = [];
  for (const part of parts) path.push(part === '$' ? String(find(path.join('.'))) : part);
  return path;
}

/**
 * Answers, for an array's path, the index of the first item that meets the filter's conditions on that
 * array; remembered, so that a later change of the same update means the same item. Throws the server's
 * error when the filter has no condition on the array, or no item meets them.
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

/** The filter's conditions on an array, on a document whose field `items` is that array. */
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
