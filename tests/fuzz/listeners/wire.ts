import type { Random } from '../../faults/random.ts';
import { hostileTexts, randomBytes } from './bytes.ts';

/** A field in the wire format of Protocol Buffers. */
interface Field {
  no: number;
  value: bigint | { fixed: Buffer } | { bytes: Buffer } | { fields: Field[] } | { raw: Buffer };
}

/** Changes fields of an encoded message at one to four positions. The result is mostly valid Protocol Buffers. */
export function mutatedMessage(bytes: Buffer, ids: readonly bigint[], random: Random): Buffer {
  const fields = parse(bytes) ?? [];
  for (let left = random.pick([1, 1, 2, 4]); left > 0; left -= 1) change(fields, ids, random);
  return write(fields);
}

/** Parses the fields of a message; undefined if the bytes are not a message. */
export function parse(bytes: Buffer): Field[] | undefined {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint | undefined => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) return undefined;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return undefined;
  };
  while (at < bytes.length) {
    const key = varint();
    if (key === undefined || key >> 3n === 0n || key >> 3n > 2n ** 29n) return undefined;
    const no = Number(key >> 3n);
    const type = Number(key & 7n);
    if (type === 0) {
      const value = varint();
      if (value === undefined) return undefined;
      fields.push({ no, value });
    } else if (type === 1 || type === 5) {
      const length = type === 1 ? 8 : 4;
      if (at + length > bytes.length) return undefined;
      fields.push({ no, value: { fixed: bytes.subarray(at, at + length) } });
      at += length;
    } else if (type === 2) {
      const length = Number(varint() ?? -1n);
      if (length < 0 || at + length > bytes.length) return undefined;
      const inner = bytes.subarray(at, at + length);
      const nested = length > 0 ? parse(inner) : undefined;
      fields.push({ no, value: nested ? { fields: nested } : { bytes: inner } });
      at += length;
    } else return undefined;
  }
  return fields;
}

function writeVarint(value: bigint, padding = 0): Buffer {
  const out: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    out.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  } while (rest > 0n);
  for (let i = 0; i < padding; i += 1) out.push(0x80);
  out[out.length - 1] = (out.at(-1) as number) & 0x7f;
  return Buffer.from(out);
}

function write(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.flatMap(({ no, value }) => {
      const key = (type: number) => writeVarint(BigInt(no) * 8n + BigInt(type));
      if (typeof value === 'bigint') return [key(0), writeVarint(value)];
      if ('raw' in value) return [value.raw];
      if ('fixed' in value) return [key(value.fixed.length === 8 ? 1 : 5), value.fixed];
      const inner = 'bytes' in value ? value.bytes : write(value.fields);
      return [key(2), writeVarint(BigInt(inner.length)), inner];
    }),
  );
}

/** Returns all lists of fields in a message, the outer list first. */
function lists(fields: Field[]): Field[][] {
  return [
    fields,
    ...fields.flatMap(({ value }) =>
      typeof value === 'object' && 'fields' in value ? lists(value.fields) : [],
    ),
  ];
}

const numbers = [
  ...[0n, 1n, 2n, 127n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n],
  ...[2n ** 62n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, -1n, -(2n ** 31n), -(2n ** 53n)],
];
const fixed = [Number.NaN, Number.POSITIVE_INFINITY, -0, 1e308, -1e308, 5e-324].map((value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
});
const texts = [
  ...[
    [0xff],
    [0xc3, 0x28],
    [0xed, 0xa0, 0x80],
    [0xed, 0xb0, 0x80, 0x61],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
    [0xc0, 0x80],
  ].map((b) => Buffer.from(b)),
  ...hostileTexts.map((text) => Buffer.from(text)),
  ...[65, 1024, 4096, 65_536, 262_000].map((length) => Buffer.alloc(length, 'x')),
];

/** Makes one change in one of the lists. */
function change(fields: Field[], ids: readonly bigint[], random: Random): void {
  const list = random.pick(lists(fields));
  const at = random.between(0, Math.max(0, list.length - 1));
  const field = list[at];
  switch (random.between(0, 9)) {
    case 0:
      list.splice(at, 1);
      return;
    case 1:
      // A repeated field: parsers use the last value, or merge messages.
      if (field) list.splice(random.between(0, list.length), 0, structuredClone(field));
      return;
    case 2:
      list.reverse();
      return;
    case 3:
      list.push({
        no: random.pick([15, 16, 99, 19_000, 2 ** 29 - 1, 1, 2, 3, 20]),
        value: random.pick(numbers),
      });
      return;
    case 4:
      if (random.chance(0.6)) return;
      // Invalid: field 0, groups, an end of a group without a start, a wrong length.
      list.splice(at, 0, {
        no: 1,
        value: {
          raw: Buffer.from(
            random.pick([
              '00',
              '0300',
              '0b0c',
              '0c',
              '0d',
              '0affffffff0f',
              '0aff',
              '08ffffffffffffffffffff01',
              '06',
              '07',
            ]),
            'hex',
          ),
        },
      });
      return;
    case 5:
      if (field) field.value = { bytes: randomBytes(random.between(0, 40), random) };
      return;
    case 6:
      if (field)
        field.value = {
          fixed: random.chance(0.5) ? random.pick(fixed) : randomBytes(random.pick([4, 8]), random),
        };
      return;
    case 7:
      // A number in more bytes than necessary.
      if (field && typeof field.value === 'bigint') {
        field.value = {
          raw: Buffer.concat([
            writeVarint(BigInt(field.no) * 8n),
            writeVarint(field.value, random.between(1, 4)),
          ]),
        };
      }
      return;
    default:
      if (!field) return;
      if (typeof field.value === 'bigint') {
        field.value = random.chance(0.4) && ids.length > 0 ? random.pick(ids) : random.pick(numbers);
      } else field.value = { bytes: random.pick(texts) };
  }
}
