import { type Inline, type Limits, labelOf, parseInline, unescaped } from './inline';

/** A part of an announcement: what lies in it are parts again, or a line's content. */
export type Block =
  | { readonly type: 'paragraph'; readonly content: readonly Inline[] }
  | { readonly type: 'heading'; readonly depth: number; readonly content: readonly Inline[] }
  | { readonly type: 'code'; readonly value: string }
  | { readonly type: 'rule' }
  | { readonly type: 'quote'; readonly blocks: readonly Block[] }
  | {
      readonly type: 'list';
      readonly start: number | undefined;
      readonly items: readonly (readonly Block[])[];
    }
  | { readonly type: 'table'; readonly rows: readonly (readonly (readonly Inline[])[])[] };

/** Content is read last: a definition may stand anywhere. */
type Rough =
  | { type: 'paragraph' | 'heading'; depth: number; text: string }
  | { type: 'code'; value: string }
  | { type: 'rule' }
  | { type: 'quote'; blocks: Rough[] }
  | { type: 'list'; start: number | undefined; items: Rough[][] }
  | { type: 'table'; rows: string[][] };

/** More is text: the page stays quick, whatever comes. */
export const mostElements = 1500;
const deepest = 8;
const mostColumns = 40;

const isBlank = (line: string | undefined): boolean => line === undefined || /^ *$/.test(line);
const fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const quote = /^ {0,3}>/;
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}(?! )| +|$)/;
const definition = /^ {0,3}\[([^[\]]{1,200})\]: *<?([^\s<>]{1,1000})>?(?: +["'(].{0,300}["')])? *$/;
const underline = /^ {0,3}(=+|-+) *$/;

function headingOf(line: string): { depth: number; text: string } | undefined {
  const depth = /^ {0,3}(#{1,6})(?: |$)/.exec(line)?.[1]?.length;
  if (!depth) return undefined;
  const text = line.trim().slice(depth).trim();
  let end = text.length;
  while (text[end - 1] === '#') end--;
  const isClosed = end === 0 || text[end - 1] === ' ';
  return { depth, text: isClosed ? text.slice(0, end).trim() : text };
}

/** What cannot be the next line of a paragraph. */
const interrupts = (line: string): boolean => {
  const item = bullet.exec(line);
  return (
    fence.test(line) ||
    rule.test(line) ||
    quote.test(line) ||
    headingOf(line) !== undefined ||
    (item !== null && item[0].length < line.length && /^(?:[-*+]|1[.)])$/.test(item[2] ?? ''))
  );
};

function cellsOf(line: string): string[] {
  const cells: string[] = [];
  let cell = '';
  for (const part of line.trim().split(/(\\.|\|)/)) {
    if (part === '|') {
      cells.push(cell);
      cell = '';
    } else cell += part === '\\|' ? '|' : part;
  }
  cells.push(cell);
  if (cells[0]?.trim() === '') cells.shift();
  if (cells.at(-1)?.trim() === '') cells.pop();
  return cells.map((one) => one.trim());
}

const startsTable = (line: string, next: string | undefined): boolean => {
  if (next === undefined || !line.includes('|') || !/^[ |:-]+$/.test(next)) return false;
  const marks = cellsOf(next);
  return (
    marks.length <= mostColumns &&
    marks.every((one) => /^:?-+:?$/.test(one)) &&
    marks.length === cellsOf(line).length
  );
};

function readBlocks(
  lines: readonly string[],
  level: number,
  definitions: Map<string, string>,
  limits: Limits,
): Rough[] {
  const blocks: Rough[] = [];
  let index = 0;
  const line = () => lines[index] ?? '';

  const readFence = (opening: string): Rough => {
    const indent = line().search(/\S/);
    const content: string[] = [];
    for (index++; index < lines.length; index++) {
      const text = line().trim();
      if (text.length >= opening.length && text === (opening[0] ?? '').repeat(text.length)) break;
      const own = line().search(/\S/);
      content.push(line().slice(own < 0 ? indent : Math.min(indent, own)));
    }
    index++;
    return { type: 'code', value: content.join('\n') };
  };
  const readQuote = (): Rough => {
    const inside: string[] = [];
    for (; quote.test(line()); index++) inside.push(line().replace(/^ {0,3}> ?/, ''));
    return { type: 'quote', blocks: readBlocks(inside, level + 1, definitions, limits) };
  };
  const readItem = (width: number): Rough[] => {
    const inside = [line().slice(width)];
    for (index++; index < lines.length; index++) {
      const text = line();
      if (isBlank(text)) inside.push('');
      else if (text.startsWith(' '.repeat(width))) inside.push(text.slice(width));
      else if (inside.at(-1) !== '' && !interrupts(text) && !bullet.test(text)) inside.push(text);
      else break;
    }
    return readBlocks(inside, level + 1, definitions, limits);
  };
  const readList = (first: RegExpExecArray): Rough => {
    const kind = first[2]?.at(-1);
    const number = Number.parseInt(first[2] ?? '', 10);
    const items: Rough[][] = [];
    for (let item: RegExpExecArray | null = first; item; item = bullet.exec(line())) {
      if (item[2]?.at(-1) !== kind || rule.test(line()) || !limits.take()) break;
      const spaces = item[3]?.length ?? 0;
      items.push(
        readItem((item[1]?.length ?? 0) + (item[2]?.length ?? 0) + (spaces > 4 || spaces === 0 ? 1 : spaces)),
      );
    }
    return { type: 'list', start: Number.isNaN(number) ? undefined : number, items };
  };
  const readTable = (): Rough => {
    const rows = [cellsOf(line())];
    const columns = rows[0]?.length ?? 0;
    for (index += 2; index < lines.length && !isBlank(line()) && !interrupts(line()); index++)
      rows.push(cellsOf(line()).slice(0, columns));
    return { type: 'table', rows };
  };
  const readCode = (): Rough => {
    const content: string[] = [];
    for (; index < lines.length && (isBlank(line()) || line().startsWith('    ')); index++)
      content.push(line().slice(4));
    return { type: 'code', value: content.join('\n').trimEnd() };
  };
  const readParagraph = (): Rough => {
    const text: string[] = [];
    for (; index < lines.length && !isBlank(line()); index++) {
      const depth = underline.exec(line())?.[1]?.startsWith('=') ? 1 : 2;
      if (text.length > 0 && underline.test(line())) {
        index++;
        return { type: 'heading', depth, text: text.join('\n').trim() };
      }
      if (text.length > 0 && (interrupts(line()) || startsTable(line(), lines[index + 1]))) break;
      text.push(line().trimStart());
    }
    return { type: 'paragraph', depth: 0, text: text.join('\n').trim() };
  };

  while (index < lines.length) {
    const text = line();
    if (isBlank(text)) {
      index++;
      continue;
    }
    if (!limits.take()) {
      blocks.push({ type: 'paragraph', depth: 0, text: lines.slice(index).join('\n') });
      break;
    }
    const defined = definition.exec(text);
    const opening = fence.exec(text)?.[1];
    const heading = headingOf(text);
    const item = level < deepest ? bullet.exec(text) : null;
    if (defined) {
      const label = labelOf(defined[1] ?? '');
      // Of two with one name the first counts.
      if (!definitions.has(label)) definitions.set(label, unescaped(defined[2] ?? ''));
      index++;
    } else if (opening) blocks.push(readFence(opening));
    else if (heading) {
      blocks.push({ type: 'heading', ...heading });
      index++;
    } else if (rule.test(text)) {
      blocks.push({ type: 'rule' });
      index++;
    } else if (level < deepest && quote.test(text)) blocks.push(readQuote());
    else if (item) blocks.push(readList(item));
    else if (text.startsWith('    ')) blocks.push(readCode());
    else if (startsTable(text, lines[index + 1])) blocks.push(readTable());
    else blocks.push(readParagraph());
  }
  return blocks;
}

/** Markdown as announcements use it: CommonMark's common part with tables, and with limits that keep it quick. */
export function parse(text: string): Block[] {
  let left = mostElements;
  const definitions = new Map<string, string>();
  const limits: Limits = {
    take: () => left > 0 && left-- > 0,
    definition: (label) => definitions.get(label),
  };
  const lines = text.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').split('\n');
  const finish = (rough: Rough): Block => {
    switch (rough.type) {
      case 'paragraph':
        return { type: 'paragraph', content: parseInline(rough.text, limits) };
      case 'heading':
        return { type: 'heading', depth: rough.depth, content: parseInline(rough.text, limits) };
      case 'quote':
        return { type: 'quote', blocks: rough.blocks.map(finish) };
      case 'list':
        return { type: 'list', start: rough.start, items: rough.items.map((one) => one.map(finish)) };
      case 'table':
        return { type: 'table', rows: rowsOf(rough.rows) };
      default:
        return rough;
    }
  };
  const rowsOf = (rows: readonly string[][]): Inline[][][] => {
    const kept: Inline[][][] = [];
    for (const [index, row] of rows.entries()) {
      if (!row.every(() => limits.take())) {
        kept.push([[{ type: 'text', value: rows.slice(index).flat().join(' ') }]]);
        break;
      }
      kept.push(row.map((one) => parseInline(one, limits)));
    }
    return kept;
  };
  return readBlocks(lines, 0, definitions, limits).map(finish);
}
