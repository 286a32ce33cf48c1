import { describe, expect, it } from '@jest/globals';
import { Binary, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb';
import { afterPrefix, compareValues, encodeKey, KeyWriter, sameValue } from './order.ts';

/** Values in MongoDB's order, each greater than the one before. */
const ascending: unknown[] = [
  new MinKey(),
  null,
  Number.NaN,
  -Infinity,
  Long.fromString('-9007199254740995'),
  -(2 ** 53),
  -1.5,
  -1,
  -Number.MIN_VALUE,
  0,
  Number.MIN_VALUE,
  1,
  255,
  256,
  2 ** 53,
  Long.fromString('9007199254740993'),
  Long.fromString('9007199254740994'),
  Long.fromString('9007199254740995'),
  Long.MAX_VALUE,
  2 ** 63,
  Infinity,
  '',
  '\0',
  '\0\0',
  '\0a',
  'a',
  'a\0',
  'aa',
  'b',
  'é',
  '\uffff',
  '\u{1f600}',
  {},
  { a: 1 },
  { a: 1, b: 1 },
  { a: 2 },
  { b: 0 },
  { a: 'x' },
  [],
  [1],
  [1, 1],
  [2],
  new Binary(Buffer.from([1])),
  new Binary(Buffer.from([255])),
  new Binary(Buffer.from([0, 0])),
  new ObjectId('000000000000000000000001'),
  new ObjectId('ff0000000000000000000001'),
  false,
  true,
  new Date(-1),
  new Date(0),
  new Date(8.64e15),
  new Timestamp({ t: 1, i: 1 }),
  new Timestamp({ t: 1, i: 2 }),
  /a/,
  /b/,
  new MaxKey(),
];

describe('keys', () => {
  it('of any two values compare by their bytes in MongoDB’s order', () => {
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries()) {
        const pair = `${String(a)} against ${String(b)} (${i}, ${j})`;
        expect([pair, Math.sign(Buffer.compare(encodeKey(a), encodeKey(b)))]).toEqual([
          pair,
          Math.sign(i - j),
        ]);
        expect([pair, Math.sign(compareValues(a, b))]).toEqual([pair, Math.sign(i - j)]);
        expect([pair, sameValue(a, b)]).toEqual([pair, i === j]);
      }
    }
  });

  it('of equal values are equal, also when their types differ', () => {
    expect(compareValues(1, Long.fromNumber(1))).toBe(0);
    expect(compareValues(0, -0)).toBe(0);
    expect(compareValues(undefined, null)).toBe(0);
    expect(sameValue({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(false);
  });

  it('of several parts sort by the first, then the next, in each part’s direction', () => {
    const key = (a: unknown, b: unknown) => {
      const writer = new KeyWriter();
      writer.part(a, 1);
      writer.part(b, -1);
      return writer.take();
    };
    const sorted = [key('a', 2), key('a', 1), key('a', null), key('a\0', 5), key('b', 9)];
    for (let i = 1; i < sorted.length; i++) {
      expect(Buffer.compare(sorted[i - 1] as Uint8Array, sorted[i] as Uint8Array)).toBe(-1);
    }
  });

  it('that begin with a prefix are all below the end of its range', () => {
    const prefix = Uint8Array.of(1, 0xff);
    expect([...afterPrefix(prefix)]).toEqual([2]);
    expect(Buffer.compare(afterPrefix(new Uint8Array(0)), encodeKey(new MaxKey()))).toBe(1);
  });
});
