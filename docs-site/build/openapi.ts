import { join } from 'node:path';
import {
  bundle,
  createConfig,
  getLineColLocation,
  lint,
  type NormalizedProblem,
} from '@redocly/openapi-core';
import type { OpenApiDocument } from '../src/reference/types.ts';
import { ContentError } from './front-matter.ts';

export const apiNames = ['cws_api', 'cws_notification', 'cws_presigned_url'] as const;
export type ApiName = (typeof apiNames)[number];

export interface LoadedApi {
  readonly name: ApiName;
  readonly route: string;
  readonly file: string;
  readonly document: OpenApiDocument;
}

/** What must hold before a document is shown: it is valid, resolves, and its examples fit their schemas. */
const rules = {
  struct: 'error',
  'no-unresolved-refs': 'error',
  'operation-operationId': 'error',
  'operation-operationId-unique': 'error',
  'operation-summary': 'error',
  'no-invalid-media-type-examples': 'error',
  'no-invalid-schema-examples': 'error',
} as const;

function stop(folder: string, problems: readonly NormalizedProblem[]): void {
  const first = problems.filter((one) => one.severity === 'error' && !one.ignored);
  if (first.length === 0) return;
  const lines = first.slice(0, 10).map((problem) => {
    const location = problem.location[0];
    const start = location ? getLineColLocation(location).start : undefined;
    const file = location?.source.absoluteRef.replace(`${folder}/`, '') ?? folder;
    const pointer = location?.pointer ? ` (${location.pointer})` : '';
    return new ContentError(file, start?.line, `${problem.message.split('\n')[0]}${pointer}`).message;
  });
  if (first.length > lines.length) lines.push(`… and ${first.length - lines.length} more`);
  throw new Error(lines.join('\n'));
}

/** Loads one document; any problem stops with file, line and reason. */
export async function loadApi(folder: string, name: ApiName): Promise<LoadedApi> {
  const file = join(folder, `${name}.yaml`);
  const config = await createConfig({ rules });
  stop(folder, await lint({ ref: file, config }));
  const { bundle: bundled, problems } = await bundle({ ref: file, config });
  stop(folder, problems);
  return { name, file, route: `/apis/v1/${name}`, document: bundled.parsed as OpenApiDocument };
}

export const loadApis = (folder: string): Promise<LoadedApi[]> =>
  Promise.all(apiNames.map((name) => loadApi(folder, name)));
