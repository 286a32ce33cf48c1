import { makeApk, makeManifest, withSigningBlock } from '@headset-cloud/demo/apk.ts';
import { type RawEntry, rawZip } from '@headset-cloud/updates/testing/raw-zip.ts';
import type { Random } from '../faults/random.ts';

/** Declared values of every package of the fuzz test. */
export const declared = { kind: 'software', package: 'com.example.app', version: '1.0.0' } as const;

const manifest = makeManifest({ package: declared.package, versionName: declared.version });
const listing = 0x02014b50;
const signatures = [0x04034b50, listing, 0x06054b50, 0x06064b50, 0x07064b50];
/** Positions and lengths of each record's fields, by signature. */
const fields: Readonly<Record<number, readonly [at: number, bytes: number][]>> = {
  67324752: [
    [6, 2],
    [8, 2],
    [14, 4],
    [18, 4],
    [22, 4],
    [26, 2],
    [28, 2],
  ],
  33639248: [
    [4, 2],
    [8, 2],
    [10, 2],
    [16, 4],
    [20, 4],
    [24, 4],
    [28, 2],
    [30, 2],
    [32, 2],
    [38, 4],
    [42, 4],
  ],
  101010256: [
    [4, 2],
    [8, 2],
    [10, 2],
    [12, 4],
    [16, 4],
    [20, 2],
  ],
  101075792: [
    [4, 8],
    [16, 4],
    [24, 8],
    [32, 8],
    [40, 8],
    [48, 8],
  ],
  117853008: [
    [4, 4],
    [8, 8],
    [16, 4],
  ],
};

/** Returns valid packages to mutate. */
export async function seeds(): Promise<Buffer[]> {
  const entries = {
    'classes.dex': Buffer.alloc(3000, 'code'),
    'res/a.bin': Buffer.alloc(500, 'x'),
    lib: Buffer.alloc(0),
  };
  const raw: RawEntry[] = [
    { name: 'AndroidManifest.xml', content: manifest },
    { name: 'lib/', method: 0, attributes: 0o040755 * 65536 },
    { name: 'lib/a.so', content: Buffer.alloc(2000, 'so'), comment: Buffer.from('a comment') },
  ];
  return [
    await makeApk({ entries }),
    await makeApk({ entries, utf8: true }),
    withSigningBlock(rawZip(raw)),
    rawZip(raw),
    rawZip(raw, { zip64: {} }),
  ];
}

/** Changes a package at one to six positions. The same random numbers give the same bytes. */
export function mutated(from: readonly Buffer[], random: Random): Buffer {
  if (random.chance(0.2)) return withMutatedManifest(random);
  let bytes: Buffer = Buffer.from(random.pick(from));
  for (let left = random.pick([1, 1, 2, 6]); left > 0; left -= 1) {
    bytes = random.pick(mutations)(bytes, random, from);
  }
  return bytes;
}

type Mutation = (bytes: Buffer, random: Random, from: readonly Buffer[]) => Buffer;

const mutations: readonly Mutation[] = [
  changedField,
  changedField,
  changedField,
  changedByte,
  (bytes, random) => {
    const [start, end] = range(bytes, random);
    return bytes.fill(random.pick([0, 0xff, 0x50]), start, end);
  },
  (bytes, random) => bytes.subarray(0, random.between(0, bytes.length)),
  (bytes, random) => {
    const [start, end] = range(bytes, random);
    return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
  },
  (bytes, random) => {
    const [start, end] = range(bytes, random);
    const at = random.between(0, bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(start, end), bytes.subarray(at)]);
  },
  (bytes, random, from) => {
    const other = random.pick(from);
    return Buffer.concat([bytes.subarray(0, random.between(0, bytes.length)), other]);
  },
];

function changedByte(bytes: Buffer, random: Random): Buffer {
  if (bytes.length > 0) bytes[random.between(0, bytes.length - 1)] = random.between(0, 255);
  return bytes;
}

/** Sets a record's field to a value that often breaks parsers. */
function changedField(bytes: Buffer, random: Random): Buffer {
  // Choose rare records as often as frequent ones.
  const there = signatures.filter((signature) => placesOf(bytes, signature).length > 0);
  if (there.length === 0) return changedByte(bytes, random);
  const signature = random.pick(there);
  const at = random.pick(placesOf(bytes, signature));
  const [offset, length] = random.pick(fields[signature] ?? []);
  const most = 2n ** BigInt(8 * length) - 1n;
  const near = BigInt(bytes.length) + BigInt(random.between(-3, 3));
  const value = random.pick([0n, 1n, 8n, most, most - 1n, most >> 1n, near, BigInt(random.between(0, 255))]);
  const encoded = Buffer.alloc(8);
  encoded.writeBigUInt64LE(value < 0n ? 0n : value > most ? most : value);
  encoded.copy(bytes, at + offset, 0, length);
  return bytes;
}

function placesOf(bytes: Buffer, signature: number): number[] {
  const wanted = Buffer.alloc(4);
  wanted.writeUInt32LE(signature);
  const places: number[] = [];
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 4)) places.push(at);
  return places;
}

/** Returns a random range of up to 64 bytes. */
function range(bytes: Buffer, random: Random): [number, number] {
  const start = random.between(0, bytes.length);
  return [start, Math.min(bytes.length, start + random.between(1, 64))];
}

/** Builds a package with a mutated manifest, because a change of compressed bytes rarely reaches the manifest. */
function withMutatedManifest(random: Random): Buffer {
  const content = Buffer.from(manifest);
  for (let left = random.between(1, 8); left > 0; left -= 1) {
    const at = random.between(0, content.length - 4);
    if (random.chance(0.5)) changedByte(content, random);
    else content.writeUInt32LE(random.pick([0, 1, 0xffff, 0x7fffffff, 0xffffffff, content.length]), at);
  }
  return rawZip([{ name: 'AndroidManifest.xml', content, method: random.pick([0, 8]) }]);
}
