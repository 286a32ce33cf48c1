import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';

/** The protocol page, from the project's folder. */
export const pagePath = 'proto/device_link/v1/README.md';

/** A section of the page, without its subsections. */
export interface Section {
  readonly title: string;
  /** Anchor of the section, like on GitHub. */
  readonly anchor: string;
  /** Text of the section without markup, see `plain`. */
  readonly text: string;
}

/** Returns the sections of the page in order. */
export function readSections(): readonly Section[] {
  const page = readFileSync(join(root, pagePath), 'utf8');
  return page.split(/^#+ (?=.)/m).map((part) => {
    const [title = '', ...lines] = part.split('\n');
    const anchor = title
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replace(/\s/g, '-');
    return { title, anchor, text: plain(lines.join('\n')) };
  });
}

/** Splits a rule's sentence at `…`, which joins separate sentences of the page. */
export function partsOf(sentence: string): readonly string[] {
  return sentence.split('…').map((part) => part.trim());
}

/** Returns the section that contains a part of a sentence; undefined if none does. */
export function sectionOf(part: string, sections: readonly Section[]): Section | undefined {
  return sections.find(({ text }) => text.includes(plain(part)));
}

/** Removes markup and white space, for comparison. */
function plain(text: string): string {
  return text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*`_|]/g, ' ')
    .replace(/\s+/g, '')
    .toLowerCase();
}
