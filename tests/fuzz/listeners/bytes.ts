import type { Random } from '../../faults/random.ts';

/** Bytes that often break parsers. */
const hostile = [
  ...['', '\0', '\r\n', '"', '\\', '%', '{', '[', '../', ' ', '\t', '\u00ff', '\ud7ff', '😀'].map((t) =>
    Buffer.from(t),
  ),
  ...[[0xc0, 0x80], [0xed, 0xa0, 0x80], [0xff, 0xff, 0xff, 0xff], [0x80], [0xfe]].map((b) => Buffer.from(b)),
];

/** Changes bytes at one to four positions: flips, replaces, cuts, doubles, inserts or removes. */
export function mutatedBytes(from: Buffer, random: Random): Buffer {
  let bytes: Buffer = Buffer.from(from);
  for (let left = random.pick([1, 1, 2, 4]); left > 0; left -= 1) bytes = changed(bytes, random);
  return bytes;
}

function changed(bytes: Buffer, random: Random): Buffer {
  const at = random.between(0, bytes.length);
  const to = Math.min(bytes.length, at + random.between(1, 16));
  const [head, part, tail] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)];
  switch (random.between(0, 6)) {
    case 0:
    case 1: {
      const place = Math.min(at, bytes.length - 1);
      if (place >= 0) bytes[place] = (bytes[place] as number) ^ (1 << random.between(0, 7));
      return bytes;
    }
    case 2:
      return head;
    case 3:
      return Buffer.concat([head, tail]);
    case 4:
      return Buffer.concat([head, part, part, tail]);
    case 5:
      return Buffer.concat([head, random.pick(hostile), part, tail]);
    default:
      return Buffer.concat([head, randomBytes(part.length, random), tail]);
  }
}

export function randomBytes(length: number, random: Random): Buffer {
  return Buffer.from(Array.from({ length }, () => random.between(0, 255)));
}

/** Splits bytes into pieces of irregular sizes. */
export function pieces(bytes: Buffer, random: Random): Buffer[] {
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = random.pick([1, 2, 3, 7, 64, 1000, 16_384]);
    out.push(bytes.subarray(at, at + length));
    at += length;
  }
  return out;
}

/** Valid Unicode texts that often break parsers. */
export const hostileTexts: readonly string[] = [
  ...[
    '',
    ' ',
    '\0',
    'a\0b',
    '\r\nX: 1',
    '\u2028',
    '\ufeff',
    '\u202e',
    'İ',
    'ß',
    '😀',
    'e\u0301',
    '\u{10ffff}',
  ],
  ...[
    '$where',
    '{"$gt":""}',
    '__proto__',
    'constructor',
    '../../etc/passwd',
    '%2e%2e%2f',
    "' OR 1=1 --",
    '#{7*7}',
  ],
  ...['-1', '0', '1e400', 'NaN', 'null', 'true', '9007199254740993', '2026-02-30T25:61:61Z'],
  ...[
    'x'.repeat(255),
    'x'.repeat(256),
    'x'.repeat(5000),
    '𝒳'.repeat(300),
    'http://169.254.169.254/',
    'file:///etc/passwd',
  ],
];
