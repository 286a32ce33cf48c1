import { parseDocument } from 'yaml';

export interface FrontMatter {
  readonly title: string;
  readonly position: number;
  readonly description: string;
  readonly sidebar_label?: string;
  readonly category?: string;
  readonly unlisted?: boolean;
  readonly draft?: boolean;
  /**
   * Additional search words. Keys: `page`, the id of a section, or an address of the site (`/apis/v1/cws_api#…`).
   */
  readonly keywords?: Readonly<Record<string, string>>;
}

/** An error in the content, with file, line and reason. */
export class ContentError extends Error {
  constructor(file: string, line: number | undefined, reason: string) {
    super(`${file}${line === undefined ? '' : `:${line}`}: ${reason}`);
  }
}

const kinds = {
  title: 'string',
  position: 'number',
  description: 'string',
  sidebar_label: 'string',
  category: 'string',
  unlisted: 'boolean',
  draft: 'boolean',
  keywords: 'map of texts',
} as const;

const isTexts = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((one) => typeof one === 'string');
const required = ['title', 'position', 'description'] as const;

/** Parses the front matter between the two `---`. Empty lines replace it in the body, so line numbers stay correct. */
export function readFrontMatter(file: string, source: string): { data: FrontMatter; body: string } {
  const match = /^---\r?\n([\s\S]*?)\r?\n---\r?\n/.exec(source);
  if (!match)
    throw new ContentError(
      file,
      1,
      'the front matter is missing: begin with ---, title, position, description, ---',
    );
  const text = match[1] ?? '';
  const lineOf = (key: string) => text.split('\n').findIndex((line) => line.startsWith(`${key}:`)) + 2;
  const document = parseDocument(text);
  const problem = document.errors[0];
  if (problem)
    throw new ContentError(file, (problem.linePos?.[0].line ?? 1) + 1, problem.message.split('\n')[0] ?? '');
  const data: unknown = document.toJS();
  if (typeof data !== 'object' || data === null) throw new ContentError(file, 2, 'the front matter is empty');
  for (const [key, value] of Object.entries(data)) {
    const kind = kinds[key as keyof typeof kinds];
    if (!kind)
      throw new ContentError(
        file,
        lineOf(key),
        `unknown key "${key}" (known: ${Object.keys(kinds).join(', ')})`,
      );
    if (kind === 'map of texts' ? !isTexts(value) : typeof value !== kind || value === '')
      throw new ContentError(file, lineOf(key), `"${key}" must be a ${kind}`);
  }
  for (const key of required)
    if (!(key in data)) throw new ContentError(file, 1, `"${key}" is missing in the front matter`);
  const lines = match[0].split('\n').length - 1;
  return { data: data as FrontMatter, body: '\n'.repeat(lines) + source.slice(match[0].length) };
}
