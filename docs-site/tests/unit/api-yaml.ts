import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { openapi } from './api-support.ts';

/** Part of an unchanged document, read without code of the renderer. */
export interface Members {
  readonly [key: string]: unknown;
}
const methods = ['get', 'put', 'post', 'delete', 'patch'];

/** Reads one document. Returns its operations and a function that follows references. */
export function readYaml(name: string) {
  const document = parse(readFileSync(join(openapi, `${name}.yaml`), 'utf8')) as Members;
  const at = (ref: string) =>
    ref
      .slice(2)
      .split('/')
      .reduce(
        (value, part) => (value as Members)[part.replaceAll('~1', '/')],
        document as unknown,
      ) as Members;
  const deref = (value: Members): { value: Members; ref?: string } => {
    const { $ref, ...beside } = value;
    return typeof $ref === 'string'
      ? { value: { ...deref(at($ref)).value, ...beside }, ref: $ref }
      : { value };
  };
  const operations = (['paths', 'webhooks'] as const).flatMap((key) =>
    Object.entries((document[key] ?? {}) as Record<string, Members>).flatMap(([path, item]) =>
      methods.flatMap((method) => {
        const value = item[method] as (Members & { operationId: string; summary: string }) | undefined;
        return value ? [{ path, method, item, value, id: value.operationId }] : [];
      }),
    ),
  );
  return { document, deref, operations };
}
