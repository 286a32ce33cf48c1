import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Languages of samples, in the order of their tabs. */
export const languages = ['bash', 'js', 'python'] as const;
export type Language = (typeof languages)[number];

/** A code block of a guide that readers can run. */
export interface Sample {
  readonly name: string;
  readonly language: Language;
  readonly code: string;
  readonly line: number;
  /** Reason why the sample cannot run in the test. */
  readonly norun: string | undefined;
  /** Reason why the sample exists in one language only. */
  readonly alone: string | undefined;
}

/** Expected output of a sample, as the guide shows it. */
export interface Output {
  readonly name: string;
  readonly format: string;
  readonly text: string;
  readonly line: number;
  /** JSON members whose values may differ. */
  readonly any: ReadonlySet<string>;
}

export interface Guide {
  readonly file: string;
  readonly samples: readonly Sample[];
  readonly outputs: ReadonlyMap<string, Output>;
}

interface Block {
  readonly language: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly text: string;
  readonly line: number;
}

/** Returns the guides of a folder that have samples, in the order of the sidebar. */
export function readGuides(folder: string): Guide[] {
  const sources = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.mdx'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ file: relative(folder, path), source: readFileSync(path, 'utf8') }));
  return sources
    .toSorted((a, b) => positionOf(a.source) - positionOf(b.source))
    .map(({ file, source }) => readGuide(file, source))
    .filter(({ samples }) => samples.length > 0);
}

const positionOf = (source: string): number => Number(/^position: (\d+)$/m.exec(source)?.[1] ?? 0);

/** Reads the samples and outputs of a guide. Throws an error with file and line if they break a rule of the README. */
export function readGuide(file: string, source: string): Guide {
  const fail = (line: number, reason: string): never => {
    throw new Error(`${file}:${line}: ${reason}`);
  };
  const samples: Sample[] = [];
  const outputs = new Map<string, Output>();
  for (const { language, attributes, text, line } of blocksOf(source, fail)) {
    if (isLanguage(language)) {
      const name = attributes.get('sample') ?? fail(line, `a ${language} block without sample="name"`);
      const norun = attributes.get('norun');
      if (norun?.trim() === '') fail(line, `norun of "${name}" has no reason`);
      if (samples.some((other) => other.name === name && other.language === language)) {
        fail(line, `the sample "${name}" appears twice in ${language}`);
      }
      const alone = attributes.get('alone');
      if (alone?.trim() === '') fail(line, `alone of "${name}" has no reason`);
      samples.push({ name, language, code: text, line, norun, alone });
    } else if (attributes.has('output')) {
      const name = attributes.get('output') ?? '';
      if (outputs.has(name)) fail(line, `the output of "${name}" appears twice`);
      const any = new Set((attributes.get('any') ?? '').split(',').filter((member) => member !== ''));
      if (any.size > 0 && language !== 'json') fail(line, 'any="…" is allowed for JSON only');
      outputs.set(name, { name, format: language, text, line, any });
    }
  }
  for (const { name, line, alone } of samples) {
    if (alone !== undefined) continue;
    const missing = languages.filter((l) => !samples.some((s) => s.name === name && s.language === l));
    if (missing.length > 0) fail(line, `"${name}" is missing in ${missing.join(' and ')}`);
  }
  for (const { name, line } of outputs.values()) {
    const printing = samples.filter((sample) => sample.name === name);
    if (printing.length === 0) fail(line, `the output "${name}" belongs to no sample`);
    if (printing.every(({ norun }) => norun))
      fail(line, `the output of "${name}" is never checked, because the sample has norun`);
  }
  return { file, samples, outputs };
}

const isLanguage = (language: string): language is Language =>
  (languages as readonly string[]).includes(language);

function* blocksOf(source: string, fail: (line: number, reason: string) => never): Generator<Block> {
  const lines = source.split('\n');
  for (let i = 0; i < lines.length; i += 1) {
    const opening = /^(`{3,})(\w*)\s*(.*)$/.exec(lines[i] ?? '');
    if (!opening) continue;
    const [, fence = '', language = '', meta = ''] = opening;
    const start = i + 1;
    const end = lines.findIndex((line, at) => at >= start && line.trimEnd() === fence);
    if (end < 0) fail(start, 'the code block has no end');
    const attributes = new Map([...meta.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, k = '', v = '']) => [k, v]));
    yield { language, attributes, text: lines.slice(start, end).join('\n'), line: start };
    i = end;
  }
}

/** Replaces `{{name}}` by its value. Throws if the name is unknown. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${whole} is not a reader value`);
    return value;
  });
}
