import { describe, expect, it } from '@jest/globals';
import { Binary, BSON, Decimal128, type Document, Long, MaxKey, ObjectId, Timestamp } from 'mongodb';
import { encodeDocument } from './encode.ts';
import { decodeDocument, normaliseDocument } from './values.ts';

const byDriver = (document: Document) => Buffer.from(BSON.serialize(document, { ignoreUndefined: false }));
const ours = (document: Document) => Buffer.from(encodeDocument(document));

const values: unknown[] = [
  ...[0, -0, 1, -1, 1.5, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 2 ** 53, Number.NaN, Infinity],
  ...[
    '',
    'a',
    'é',
    '\0',
    'a\0b',
    '日本',
    '\u{1f600}',
    '\ud800',
    'x'.repeat(47),
    'x'.repeat(48),
    'x'.repeat(49),
  ],
  ...['é'.repeat(48), `${'x'.repeat(30)}é`, 'x'.repeat(100_000)],
  ...[true, false, null, undefined],
  ...[new Date(0), new Date(-1), new Date(Date.UTC(2026, 0, 1)), new Date(8.64e15), new Date(-8.64e15)],
  ...[
    new ObjectId('0123456789abcdef01234567'),
    Long.MAX_VALUE,
    new Timestamp({ t: 1, i: 2 }),
    new MaxKey(),
    /a/i,
  ],
  ...[new Binary(Buffer.alloc(0)), new Binary(Buffer.from([1, 2]), 4), new Binary(Buffer.from([1, 2]), 2)],
  ...[[], [1, 'a', null, [new Date(5)], { b: [] }], {}, { a: { b: { c: 1 } } }, { 'a.b': 1, ü: 2, '': 3 }],
];

describe('a document is encoded as the driver does it', () => {
  it('with each type of value', () => {
    for (const value of values) {
      const document = { _id: 1, before: 'x', value, list: [value, value], inner: { value }, after: 7 };
      expect([value, ours(document).toString('hex')]).toEqual([value, byDriver(document).toString('hex')]);
    }
  });

  it('with names that are no plain ASCII, an own __proto__, and a field _bsontype', () => {
    const odd = JSON.parse('{"__proto__":{"a":1},"größe":2,"日":{"\\u0001":3}}');
    expect(ours(odd).toString('hex')).toBe(byDriver(odd).toString('hex'));
    expect(() => encodeDocument({ 'a\0b': 1 })).toThrow(/null bytes/);
    const typed = { a: { _bsontype: 'Binary', position: 1 } };
    expect(() => encodeDocument(typed)).toThrow();
    expect(() => byDriver(typed)).toThrow();
  });

  it('whatever is in it, and however large it is', () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * below);
    };
    const value = (depth: number): unknown => {
      const kind = random(depth > 0 ? 12 : 8);
      if (kind < 8) return values[random(values.length)];
      if (kind < 10) return Array.from({ length: random(5) }, () => value(depth - 1));
      return document(depth - 1);
    };
    const document = (depth: number): Document =>
      Object.fromEntries(
        Array.from({ length: random(8) }, (_, i) => [`field${i}${random(3)}`, value(depth)]),
      );
    for (let i = 0; i < 500; i++) {
      const one = document(4);
      expect(ours(one).equals(byDriver(one))).toBe(true);
    }
    const large = { list: Array.from({ length: 40_000 }, (_, i) => ({ i, text: 'x'.repeat(60) })) };
    expect(ours(large).equals(byDriver(large))).toBe(true);
  });

  it('and a Decimal128 is refused before', () => {
    expect(() => normaliseDocument({ a: Decimal128.fromString('1') })).toThrow(/Decimal128/);
  });

  it('so that it is decoded to the same', () => {
    const document = normaliseDocument({ a: [1, { b: new Date(5) }], c: Buffer.from([1]), d: 'é', e: null });
    expect(decodeDocument(encodeDocument(document))).toEqual(document);
  });
});
