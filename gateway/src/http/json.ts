import { isUtf8 } from 'node:buffer';
import { invalidBody } from './errors.ts';

/** Maximum nesting of a request body. */
export const maxDepth = 64;

/** Position of a member's value in the text: from (inclusive), to (exclusive). */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A parsed JSON text that keeps the original text of each top-level member (rule C15). */
export interface JsonText {
  /** For validation. Numbers are doubles here, so exact values are read from `text`. */
  readonly value: unknown;
  readonly text: string;
  /** Top-level members of an object, in order; empty for other values. */
  readonly members: ReadonlyMap<string, Span>;
}

interface Frame {
  readonly isArray: boolean;
  /** Names of the members that were read so far; undefined for arrays. */
  readonly keys: Set<string> | undefined;
  /** Name of the current member. */
  key: string;
  /** Index of the current array item. */
  index: number;
  /** True if the next string is a member's name. */
  atKey: boolean;
  /** Start of the current member's value; 0 before the first value. */
  valueFrom: number;
}

/**
 * Decodes and parses a request body: UTF-8 without a byte order mark, one JSON value, at most maxDepth deep, no
 * duplicate name in an object, no unpaired surrogates. Names such as `__proto__` are plain data. Throws invalid_body.
 */
export function parseBody(bytes: Uint8Array): JsonText {
  if (!isUtf8(bytes)) throw invalidBody('', 'The body is not UTF-8.');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw invalidBody('', 'The body begins with a byte order mark.');
  }
  return parseText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
}

/** Like parseBody, for a text. */
export function parseText(text: string): JsonText {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidBody('', 'The body is not valid JSON.');
  }
  return { value, text, members: inspect(text) };
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** The index of the closing quote of the string that begins at `from`, in valid JSON. */
function endOfString(text: string, from: number): number {
  for (let i = from + 1; ; i++) {
    const c = text.charCodeAt(i);
    if (c === backslash) i++;
    else if (c === quote) return i;
  }
}

/** A string token's value. Throws for unpaired surrogates, which UTF-8 text cannot contain. */
function stringValue(text: string, from: number, end: number, stack: readonly Frame[]): string {
  const inner = text.slice(from + 1, end);
  if (!inner.includes('\\')) return inner;
  const value = JSON.parse(text.slice(from, end + 1)) as string;
  if (!value.isWellFormed()) throw invalidBody(pointerOf(stack), 'contains an unpaired surrogate.');
  return value;
}

function pointerOf(stack: readonly Frame[]): string {
  return stack
    .map((f) => `/${f.isArray ? f.index : f.key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}

/** Makes the checks that JSON.parse omits, in one pass over a text that JSON.parse has accepted. */
function inspect(text: string): Map<string, Span> {
  const members = new Map<string, Span>();
  const stack: Frame[] = [];
  let frame: Frame | undefined;
  const closeMember = (to: number) => {
    if (stack.length === 1 && frame && !frame.isArray && frame.valueFrom > 0) {
      members.set(frame.key, { from: frame.valueFrom, to });
    }
  };
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case quote: {
        const end = endOfString(text, i);
        if (frame?.atKey) {
          frame.key = stringValue(text, i, end, stack);
          if (frame.keys?.has(frame.key)) throw invalidBody(pointerOf(stack), 'is given twice.');
          frame.keys?.add(frame.key);
          frame.atKey = false;
        } else {
          stringValue(text, i, end, stack);
        }
        i = end;
        break;
      }
      case colon:
        if (frame) frame.valueFrom = i + 1;
        break;
      case comma:
        closeMember(i);
        if (frame?.isArray) frame.index++;
        else if (frame) frame.atKey = true;
        break;
      case openBrace:
      case openBracket: {
        if (stack.length === maxDepth) throw invalidBody('', `The body is nested deeper than ${maxDepth}.`);
        const isArray = text.charCodeAt(i) === openBracket;
        frame = {
          isArray,
          keys: isArray ? undefined : new Set(),
          key: '',
          index: 0,
          atKey: !isArray,
          valueFrom: 0,
        };
        stack.push(frame);
        break;
      }
      case closeBrace:
      case closeBracket:
        closeMember(i);
        stack.pop();
        frame = stack.at(-1);
        break;
    }
  }
  return members;
}

/** Removes insignificant white space from a valid JSON text and changes nothing else. */
export function compact(text: string): string {
  if (!/[ \t\n\r]/.test(text)) return text;
  let out = '';
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) i = endOfString(text, i);
    else if (c === 0x20 || c === 0x09 || c === 0x0a || c === 0x0d) {
      out += text.slice(from, i);
      from = i + 1;
    }
  }
  return out + text.slice(from);
}
