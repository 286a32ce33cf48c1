/** What stands in a line of an announcement. */
export interface Inline {
  readonly type: 'text' | 'emphasis' | 'strong' | 'delete' | 'inlineCode' | 'break' | 'link' | 'image';
  readonly value?: string;
  readonly url?: string;
  readonly children?: readonly Inline[];
}

export interface Limits {
  /** Takes one element of those that a document may have; false when there are none left. */
  take(): boolean;
  /** The address of a link definition. */
  definition(label: string): string | undefined;
}

type Mark = '*' | '_' | '~' | '~~';
type Counts = Record<Mark, number>;

/** What is open: a mark or a bracket that may still find its other end, with what has come since. */
interface Frame {
  readonly kind: 'root' | 'mark' | 'link' | 'image' | 'dead';
  readonly mark: Mark;
  /** The frame's own text, for when it finds no other end. */
  text: string;
  children: Inline[];
  /** Of a bracket: where its text begins, and the marks that were open before it. */
  readonly start: number;
  readonly before: Counts;
}

const deepest = 10;
const deepestBracket = 20;
const longestLabel = 200;
const none = (): Counts => ({ '*': 0, _: 0, '~': 0, '~~': 0 });

const plain = /[^\\`*_~![\]<&\nh]+/y;
const run = /\*+|_+|~+/y;
const ticks = /`+/y;
const destination =
  /\([ \n]{0,9}(?:<([^<>\n]{1,1000})>|([^\s()<>]{1,1000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200})?))(?:[ \n]{1,9}(?:"[^"]{0,300}"|'[^']{0,300}'))?[ \n]{0,9}\)/y;
const reference = /\[([^[\]]{0,200})\]/y;
const angle = /<((?:https?:\/\/|mailto:)[^\s<>]{1,1000})>/iy;
const bare = /https?:\/\/[!#-;=?-_a-~]{1,1000}/iy;
const entity = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/iy;
const names: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00A0',
};

const at = (pattern: RegExp, text: string, index: number): RegExpExecArray | null => {
  pattern.lastIndex = index;
  return pattern.exec(text);
};

const character = ([, decimal, hex, name]: readonly (string | undefined)[]): string => {
  if (name) return names[name.toLowerCase()] ?? '';
  const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16);
  return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : '\uFFFD';
};

/** An address as it is written: escapes and character references are what they stand for. */
export const unescaped = (address: string): string =>
  address
    .replace(/\\([!-/:-@[-`{-~])/g, '$1')
    .replace(new RegExp(entity.source, 'gi'), (...found) => character(found));

export const labelOf = (label: string): string => label.trim().replace(/\s+/g, ' ').toLowerCase();

const textOf = (nodes: readonly Inline[]): string =>
  nodes.map((one) => one.value ?? (one.type === 'break' ? '\n' : textOf(one.children ?? []))).join('');

const depths = new WeakMap<Inline, number>();
const depthOf = (nodes: readonly Inline[]): number =>
  nodes.reduce((most, one) => Math.max(most, depths.get(one) ?? 0), 0);

const isSpace = (text: string): boolean => text === '' || /\s/.test(text);
/** Only ASCII's: CommonMark's wider set would leave 「**…」** open where Japanese goes on without a space. */
const isPunctuation = (text: string): boolean => /[!-/:-@[-`{-~]/.test(text);

/** Where the next run of the same number of backquotes begins, for each run. */
function codeEnds(text: string): Map<number, number> {
  const runs = [...text.matchAll(/`+/g)].reverse();
  const next = new Map<number, number>();
  const ends = new Map<number, number>();
  for (const {
    0: { length },
    index,
  } of runs) {
    const end = next.get(length);
    if (end !== undefined) ends.set(index, end);
    next.set(length, index);
  }
  return ends;
}

/**
 * Marks, code, links and images of one piece of text. Each step looks at a bounded number of characters, and what is
 * joined once is not looked at again, so the time grows with the length and with nothing else.
 */
export function parseInline(text: string, limits: Limits): Inline[] {
  const root: Frame = { kind: 'root', mark: '*', text: '', children: [], start: 0, before: none() };
  const stack: Frame[] = [root];
  const ends = codeEnds(text);
  let open = none();
  let brackets = 0;
  let linkDepth = 0;

  const top = (): Frame => stack[stack.length - 1] ?? root;
  const addTo = (children: Inline[], node: Inline): void => {
    if (node.type === 'text') addTextTo(children, node.value ?? '');
    else children.push(node);
  };
  /** Text grows where it stands: a document of single characters makes few nodes. */
  const addTextTo = (children: Inline[], value: string): void => {
    const last = children.at(-1) as { type: string; value: string } | undefined;
    if (last?.type === 'text') last.value += value;
    else if (value !== '') children.push({ type: 'text', value });
  };
  const add = (node: Inline): void => addTo(top().children, node);
  const addText = (value: string): void => addTextTo(top().children, value);

  /** An element; as text, where it would be too deep or one too many. */
  const element = (type: Inline['type'], children: Inline[], url?: string): Inline => {
    const depth = depthOf(children) + 1;
    if (depth > deepest || !limits.take()) return { type: 'text', value: textOf(children) };
    const node: Inline = { type, children, ...(url === undefined ? {} : { url }) };
    depths.set(node, depth);
    return node;
  };
  /** Frames above this one have found no end: they become text in it. */
  const settle = (index: number): void => {
    const frame = stack[index] ?? root;
    for (const lost of stack.splice(index + 1)) {
      addTextTo(frame.children, lost.text);
      for (const one of lost.children) addTo(frame.children, one);
    }
  };
  const push = (kind: Frame['kind'], mark: Mark, own: string, start: number): void => {
    stack.push({ kind, mark, text: own, children: [], start, before: open });
  };

  const readMarks = (found: string, index: number): void => {
    const before = text[index - 1] ?? '';
    const after = text[index + found.length] ?? '';
    const left = !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before));
    const right = !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after));
    const isLine = found[0] === '_';
    const opens = left && (!isLine || !right || isPunctuation(before));
    const closes = right && (!isLine || !left || isPunctuation(after));
    const tilde = found[0] === '~';
    if (tilde && found.length > 2) {
      addText(found);
      return;
    }
    const mark = (tilde ? found : found[0]) as Mark;
    let rest = found.length;
    while (closes && rest > 0 && open[mark] > 0) {
      let place = stack.length - 1;
      while (stack[place]?.kind !== 'mark' || stack[place]?.mark !== mark) {
        if (stack[place]?.kind === 'mark') open[(stack[place] as Frame).mark]--;
        place--;
      }
      settle(place);
      const frame = stack[place] as Frame;
      const used = tilde ? rest : Math.min(2, rest, frame.text.length);
      const type = tilde ? 'delete' : used === 2 ? 'strong' : 'emphasis';
      const node = element(type, frame.children);
      rest -= used;
      frame.text = frame.text.slice(used);
      frame.children = [];
      if (frame.text === '') {
        stack.pop();
        open[mark]--;
      }
      add(node);
    }
    if (rest === 0) return;
    const own = found.slice(0, rest);
    if (!opens) {
      addText(own);
      return;
    }
    push('mark', mark, own, index);
    open[mark]++;
  };

  const openBracket = (kind: 'link' | 'image', own: string, start: number): void => {
    if (brackets >= deepestBracket) {
      addText(own);
      return;
    }
    push(kind, '*', own, start);
    open = none();
    brackets++;
  };
  /** Where a bracket leads, and what of the text that takes. */
  const target = (start: number, end: number): { url: string; next: number } | undefined => {
    const direct = at(destination, text, end + 1);
    if (direct) return { url: unescaped(direct[1] ?? direct[2] ?? ''), next: end + 1 + direct[0].length };
    const full = at(reference, text, end + 1);
    const own = end - start <= longestLabel ? text.slice(start, end) : '';
    const url = limits.definition(labelOf(full?.[1] || own));
    return url === undefined ? undefined : { url, next: end + 1 + (full?.[0].length ?? 0) };
  };
  const closeBracket = (index: number): number => {
    if (brackets === 0) {
      addText(']');
      return index + 1;
    }
    let place = stack.length - 1;
    while (stack[place]?.kind !== 'link' && stack[place]?.kind !== 'image') place--;
    const frame = stack[place] as Frame;
    const inLink = frame.kind === 'link' && linkDepth > brackets;
    const found = inLink ? undefined : target(frame.start, index);
    brackets--;
    if (linkDepth > brackets + 1) linkDepth = brackets + 1;
    if (!found) {
      // No link: the bracket is text, and marks before it may end after it.
      for (const mark of Object.keys(open) as Mark[]) open[mark] += frame.before[mark];
      stack[place] = { ...frame, kind: 'dead' };
      addText(']');
      return index + 1;
    }
    settle(place);
    stack.pop();
    open = frame.before;
    if (frame.kind === 'link') {
      add(element('link', frame.children, found.url));
      // What is still open around it cannot be a link any more.
      linkDepth = brackets + 1;
    } else if (limits.take()) add({ type: 'image', url: found.url, value: textOf(frame.children) });
    else addText(textOf(frame.children));
    return found.next;
  };

  const readCode = (index: number): number => {
    const { length } = at(ticks, text, index)?.[0] ?? '`';
    const end = ends.get(index);
    if (end === undefined || !limits.take()) {
      addText('`'.repeat(length));
      return index + length;
    }
    const inside = text.slice(index + length, end).replaceAll('\n', ' ');
    const padded = /^ .* $/s.test(inside) && inside.trim() !== '';
    add({ type: 'inlineCode', value: padded ? inside.slice(1, -1) : inside });
    return end + length;
  };

  const readLineEnd = (index: number): number => {
    const isHard = text[index - 1] === ' ' && text[index - 2] === ' ';
    if (isHard && limits.take()) add({ type: 'break' });
    else addText('\n');
    return index + 1;
  };

  const readAddress = (index: number): number => {
    const boundary = index === 0 || !/[\w/]/.test(text[index - 1] ?? '');
    const found = boundary && brackets === 0 ? at(bare, text, index)?.[0] : undefined;
    if (!found) {
      addText('h');
      return index + 1;
    }
    let { length } = found;
    // What ends the sentence, or a parenthesis around the address, is no part of it.
    let unopened = found.split(')').length - found.split('(').length;
    for (; ; length--) {
      const last = found[length - 1] ?? '';
      if (last === ')' && unopened > 0) unopened--;
      else if (!/[?!.,:;*_~'"`[\]]/.test(last)) break;
    }
    const address = found.slice(0, length);
    add(element('link', [{ type: 'text', value: address }], address));
    return index + length;
  };

  let index = 0;
  while (index < text.length) {
    const words = at(plain, text, index)?.[0];
    if (words) {
      addText(words);
      index += words.length;
      continue;
    }
    const one = text[index] ?? '';
    if (one === '*' || one === '_' || one === '~') {
      const found = at(run, text, index)?.[0] ?? one;
      readMarks(found, index);
      index += found.length;
    } else if (one === '`') index = readCode(index);
    else if (one === '[') {
      openBracket('link', '[', index + 1);
      index++;
    } else if (one === '!' && text[index + 1] === '[') {
      openBracket('image', '![', index + 2);
      index += 2;
    } else if (one === ']') index = closeBracket(index);
    else if (one === '\n') index = readLineEnd(index);
    else if (one === 'h') index = readAddress(index);
    else if (one === '\\' && text[index + 1] === '\n' && limits.take()) {
      add({ type: 'break' });
      index += 2;
    } else if (one === '\\' && isPunctuation(text[index + 1] ?? '')) {
      addText(text[index + 1] ?? '');
      index += 2;
    } else {
      const linked = one === '<' ? at(angle, text, index) : null;
      const known = one === '&' ? at(entity, text, index) : null;
      if (linked) add(element('link', [{ type: 'text', value: linked[1] ?? '' }], linked[1] ?? ''));
      else addText(known ? character(known) : one);
      index += (linked ?? known)?.[0].length ?? 1;
    }
  }
  settle(0);
  return root.children;
}
