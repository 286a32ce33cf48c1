import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bundle, createConfig, lint, type NormalizedProblem } from '@redocly/openapi-core';
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { OpenApiDocument } from '../src/reference/types.ts';
import { ContentError } from './front-matter.ts';
import { keepNumerals } from './numerals.ts';

export const apiNames = ['cws_api', 'cws_notification', 'cws_presigned_url', 'cws_extension'] as const;
export type ApiName = (typeof apiNames)[number];

export interface LoadedApi {
  readonly name: ApiName;
  readonly route: string;
  readonly file: string;
  readonly text: string;
  readonly document: OpenApiDocument;
  /** Line of a JSON pointer (`#/paths/…`) in the file; the line of the nearest ancestor if the pointer does not exist. */
  readonly lineOf: (pointer: string) => number | undefined;
}

/** Lint rules: the document is valid, all references resolve, and examples match their schemas. */
const rules = {
  struct: 'error',
  'no-unresolved-refs': 'error',
  'operation-operationId': 'error',
  'operation-operationId-unique': 'error',
  'operation-operationId-url-safe': 'error',
  'operation-summary': 'error',
  'operation-parameters-unique': 'error',
  'path-parameters-defined': 'error',
  'no-enum-type-mismatch': 'error',
  'no-invalid-media-type-examples': { severity: 'error', allowAdditionalProperties: false },
  'no-invalid-parameter-examples': { severity: 'error', allowAdditionalProperties: false },
  'no-invalid-schema-examples': { severity: 'error', allowAdditionalProperties: false },
} as const;

/** Maximum number of problems in an error message, so that it fits on one screen. */
const shownProblems = 10;

function lineOfProblem(
  problem: NormalizedProblem,
  lineOf: (file: string, pointer: string) => number | undefined,
): number | undefined {
  const location = problem.location[0];
  const start = (location as { start?: { line: number } } | undefined)?.start;
  if (start) return start.line;
  return location ? lineOf(location.source.absoluteRef, location.pointer ?? '#/') : undefined;
}

function throwOnErrors(file: string, problems: readonly NormalizedProblem[]): void {
  const errors = problems.filter((one) => one.severity === 'error' && !one.ignored);
  if (errors.length === 0) return;
  const lines = errors.slice(0, shownProblems).map((problem) => {
    const at = problem.location[0]?.source.absoluteRef ?? file;
    const line = lineOfProblem(problem, (other, pointer) => lineFinder(other)(pointer));
    const pointer = problem.location[0]?.pointer;
    const reason = problem.message.trim().replace(/\s*\n\s*/g, ' ');
    return new ContentError(basename(at), line, `${reason}${pointer ? ` (${pointer})` : ''}`).message;
  });
  if (errors.length > lines.length) lines.push(`… and ${errors.length - lines.length} more`);
  throw new Error(lines.join('\n'));
}

/** Returns a function that finds the line of a JSON pointer in a YAML file, or of its nearest ancestor. */
function lineFinder(file: string): (pointer: string) => number | undefined {
  const counter = new LineCounter();
  let parsed: ReturnType<typeof parseDocument> | undefined;
  return (pointer) => {
    parsed ??= parseDocument(readFileSync(file, 'utf8'), { lineCounter: counter });
    const path = pointer
      .replace(/^#?\//, '')
      .split('/')
      .filter((part) => part !== '')
      .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
    for (let length = path.length; length > 0; length--) {
      const holder: unknown = length === 1 ? parsed.contents : parsed.getIn(path.slice(0, length - 1), true);
      const name = path[length - 1];
      const found = isMap(holder)
        ? holder.items.find((one) => isScalar(one.key) && String(one.key.value) === name)?.key
        : isSeq(holder)
          ? holder.items[Number(name)]
          : undefined;
      const range = (found as { range?: [number, number, number] } | undefined)?.range;
      if (range) return counter.linePos(range[0]).line;
    }
    return 1;
  };
}

/** Checks the OpenAPI version before the lint rules, which depend on it. Invalid YAML is left to the linter. */
function checkVersion(file: string, text: string): void {
  const lineCounter = new LineCounter();
  const { contents, errors } = parseDocument(text, { lineCounter });
  if (errors.length > 0) return;
  const pair = isMap(contents)
    ? contents.items.find((one) => isScalar(one.key) && one.key.value === 'openapi')
    : undefined;
  const version = isScalar(pair?.value) ? pair.value.value : undefined;
  if (typeof version === 'string' && /^3\.1\./.test(version)) return;
  const range = isScalar(pair?.key) ? pair.key.range : undefined;
  throw new ContentError(
    basename(file),
    range ? lineCounter.linePos(range[0]).line : 1,
    `OpenAPI 3.1 is required${version === undefined ? ': "openapi" is missing' : `, not ${version}`}`,
  );
}

/** Loads one document. Throws an error with file, line and reason. */
export async function loadApi(folder: string, name: ApiName): Promise<LoadedApi> {
  const file = join(folder, `${name}.yaml`);
  const config = await createConfig({ rules });
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ContentError(
      basename(file),
      undefined,
      `cannot be read (${(error as NodeJS.ErrnoException).code})`,
    );
  }
  checkVersion(file, text);
  let bundled: Awaited<ReturnType<typeof bundle>>;
  try {
    throwOnErrors(file, await lint({ ref: file, config }));
    bundled = await bundle({ ref: file, config });
  } catch (error) {
    // The parser throws on invalid YAML, with the line in a field of the original error.
    const line = (error as { originalError?: { mark?: { line?: number } } }).originalError?.mark?.line;
    if (line === undefined) throw error;
    const reason = (error as Error).message.split('\n')[0]?.replace(/ in ".*$/, '') ?? '';
    throw new ContentError(basename(file), line + 1, `not YAML: ${reason}`);
  }
  throwOnErrors(file, bundled.problems);
  const document = bundled.bundle.parsed as OpenApiDocument;
  return {
    name,
    file,
    text,
    route: `/apis/v1/${name}`,
    document: keepNumerals(document, text),
    lineOf: lineFinder(file),
  };
}

export const loadApis = (folder: string): Promise<LoadedApi[]> =>
  Promise.all(apiNames.map((name) => loadApi(folder, name)));

/** Runs `render` and adds file and line of the document to its errors. */
export function withLocation<T>(api: LoadedApi, render: () => T): T {
  try {
    return render();
  } catch (error) {
    const { pointer, message } = error as Error & { pointer?: string };
    throw new ContentError(
      basename(api.file),
      pointer === undefined ? undefined : api.lineOf(pointer),
      `${message}${pointer ? ` (${pointer})` : ''}`,
    );
  }
}
