import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';

interface Operation {
  operationId?: string;
}
interface Document {
  paths: Record<string, Record<string, Operation | unknown>>;
}

const methods = new Set(['get', 'put', 'post', 'patch', 'delete']);

/** Triples the calls of a document: adds a copy of each path under /second and /third. */
export function triple(file: string): void {
  const document = parse(readFileSync(file, 'utf8')) as Document;
  const paths = Object.entries(document.paths);
  for (const name of ['second', 'third']) {
    for (const [path, item] of paths) {
      const copy = structuredClone(item);
      for (const [method, operation] of Object.entries(copy)) {
        if (methods.has(method)) (operation as Operation).operationId += `-${name}`;
      }
      document.paths[`/${name}${path}`] = copy;
    }
  }
  writeFileSync(file, stringify(document, { aliasDuplicateObjects: false }));
}
