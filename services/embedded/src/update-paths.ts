import type { Document } from 'mongodb';
import { compileFilter, type Predicate } from './filter.ts';
import { plainValueAt } from './paths.ts';
import { serverError } from './store-errors.ts';
import { isDocument } from './values.ts';

/**
 * The plain paths of one document that a path with `$`, `$[]` or `$[identifier]` stands for.
 * `find` answers the place in the named array that the query matched.
 */
export function concretePaths(
  document: Document,
  parts: readonly string[],
  filters: ReadonlyMap<string, Predicate>,
  find: (arrayPath: string) => number,
): string[][] {
  let paths: string[][] = [[]];
  for (const part of parts) {
    if (!part.startsWith('$')) {
      for (const path of paths) path.push(part);
    } else if (part === '$') {
      for (const path of paths) path.push(String(find(path.join('.'))));
    } else {
      const identifier = part.slice(2, -1);
      const fits = identifier === '' ? () => true : (filters.get(identifier) as Predicate);
      paths = paths.flatMap((path) => places(document, path, identifier, fits));
    }
  }
  return paths;
}

function places(document: Document, path: string[], identifier: string, fits: Predicate): string[][] {
  const array = plainValueAt(document, path);
  if (!Array.isArray(array)) {
    throw serverError(
      'badValue',
      `The path '${path.join('.')}' must exist and hold an array, to apply array updates.`,
    );
  }
  return array.flatMap((item, i) => (fits({ [identifier]: item }) ? [[...path, String(i)]] : []));
}

/**
 * Compiles `arrayFilters` by identifier. Throws the server's error when a path uses an identifier that
 * has no filter, or a filter is not used.
 */
export function compileArrayFilters(
  arrayFilters: readonly Document[],
  changes: readonly { readonly path: string; readonly parts: readonly string[] }[],
): ReadonlyMap<string, Predicate> {
  const filters = new Map<string, Predicate>();
  for (const filter of arrayFilters) {
    const identifier = Object.keys(filter)[0]?.split('.')[0] ?? '';
    filters.set(identifier, compileFilter(filter));
  }
  const used = new Set<string>();
  for (const { path, parts } of changes) {
    if (!path.includes('$[')) continue;
    for (const part of parts) {
      if (!part.startsWith('$[') || part === '$[]') continue;
      const identifier = part.slice(2, -1);
      used.add(identifier);
      if (!filters.has(identifier)) {
        throw serverError(
          'badValue',
          `No array filter found for identifier '${identifier}' in path '${path}'`,
        );
      }
    }
  }
  for (const identifier of filters.keys()) {
    if (!used.has(identifier)) {
      throw serverError('failedToParse', `The array filter for identifier '${identifier}' was not used`);
    }
  }
  return filters;
}

/**
 * Answers, for an array's path, the first place whose item fits what the filter says about the array.
 * The place stays the one that the query found, also after a change of what made it fit.
 */
export function positionFinder(document: Document, filter: Document): (arrayPath: string) => number {
  const found = new Map<string, number>();
  const place = (arrayPath: string): number => {
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
    const known = found.get(arrayPath) ?? place(arrayPath);
    found.set(arrayPath, known);
    return known;
  };
}

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
