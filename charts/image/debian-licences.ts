import { dirname, join } from 'node:path';
import type { TarEntry } from './tar.ts';

/** SPDX's name for an unknown licence. */
export const noAssertion = 'NOASSERTION';

/**
 * The licences of a package, by the short names in its copyright file, sorted, each once. NOASSERTION: the file is
 * missing or free text (only Debian's machine-readable format 1.0 has short names). `files`: the image's files.
 */
export function licencesOf(name: string, files: ReadonlyMap<string, TarEntry>): readonly string[] {
  const text = textAt(`usr/share/doc/${name}/copyright`, files) ?? '';
  const [head = '', ...paragraphs] = text.split(/\n\s*\n/);
  if (!/^Format(-Specification)?:/m.test(head)) return [noAssertion];
  const names = [head, ...paragraphs].flatMap((paragraph) => {
    const short = /^License:[ \t]*(\S.*)$/m.exec(paragraph)?.[1]?.trim();
    return short === undefined ? [] : [short];
  });
  return names.length === 0 ? [noAssertion] : [...new Set(names)].sort();
}

/** Some packages' folders are links to the folder of another package of the same source. */
function textAt(path: string, files: ReadonlyMap<string, TarEntry>, links = 0): string | undefined {
  if (links > 5) return undefined;
  const entry = files.get(path);
  if (entry?.type === 'file') return entry.data.toString();
  if (entry?.type === 'symlink') return textAt(targetOf(path, entry), files, links + 1);
  const folder = files.get(dirname(path));
  if (folder?.type !== 'symlink') return undefined;
  return textAt(`${targetOf(dirname(path), folder)}/copyright`, files, links + 1);
}

function targetOf(path: string, { target }: TarEntry): string {
  return target.startsWith('/') ? target.slice(1) : join(dirname(path), target);
}
