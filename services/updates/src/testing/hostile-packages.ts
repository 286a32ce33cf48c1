import { randomBytes } from 'node:crypto';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { makeManifest, withSigningBlock } from '@headset-cloud/demo/apk.ts';
import { manifestBombs } from './manifest-bombs.ts';
import { type RawEntry, rawZip } from './raw-zip.ts';

/** A package that attacks its reader, and the beginning of its rejection. */
export interface HostilePackage {
  readonly what: string;
  readonly make: () => Buffer;
  readonly reason: RegExp;
}

const manifestName = 'AndroidManifest.xml';
const small = Buffer.from('a small file');
const mebi = 1024 ** 2;

const u64 = (...values: bigint[]) => {
  const bytes = Buffer.alloc(values.length * 8);
  for (const [i, value] of values.entries()) bytes.writeBigUInt64LE(value, i * 8);
  return Buffer.concat([Buffer.from([1, 0, bytes.length, 0]), bytes]);
};

/** Zeros that unpack to that many MiB, packed without holding them all; faster with a wrong checksum. */
export function packedZeros(mebibytes: number, whole = true): RawEntry {
  const block = Buffer.alloc(mebi);
  const open = deflateRawSync(block, { finishFlush: constants.Z_FULL_FLUSH });
  let checksum = 0;
  for (let i = 0; whole && i < mebibytes; i += 1) checksum = crc32(block, checksum);
  const packed = Buffer.concat([...Array<Buffer>(mebibytes - 1).fill(open), deflateRawSync(block)]);
  return { name: 'zeros.dex', packed, size: mebibytes * mebi, checksum };
}

/** Many entries that share one content: the directory lists the same offset for each. */
function overlapping(manifest: RawEntry): Buffer {
  const zeros = { name: 'a', content: Buffer.alloc(mebi) };
  const others = Array.from({ length: 10 }, (_, i) => ({
    ...{ ...zeros, name: `b${i}`, listedOnly: true, offset: 0 },
  }));
  return rawZip([zeros, ...others, manifest]);
}

/** Each entry's content is the next entry with its header, quoted. The last entry has real content. */
function quoting(manifest: RawEntry): Buffer {
  const inner = rawZip([{ name: 'b', content: small, method: 0 }]);
  const content = inner.subarray(0, 31 + small.length);
  const outer = { name: 'a', method: 0, content };
  return rawZip([outer, { name: 'b', content: small, method: 0, listedOnly: true, offset: 31 }, manifest]);
}

const broken = /^It is not a whole Android package: /;
const unpacks = /^It unpacks to more than \d+ bytes\.$/;
const leaves = /^The name of its entry .* leaves the package\.$/;
const overlap = /^Its entries \S+ and \S+ overlap\.$/;

/** Packages that are valid except for one attack. Their manifests name the package and version. */
export function hostilePackages(claimed: { package: string; version: string }): HostilePackage[] {
  const manifest = manifestOf(claimed);
  const withEntries = (...entries: RawEntry[]) => rawZip([manifest, ...entries]);
  const named = (name: string | Buffer) => () => withEntries({ name, content: small });
  const oneMebi = packedZeros(1);
  return [
    { what: 'a bomb', make: () => withEntries(packedZeros(256)), reason: unpacks },
    {
      what: 'a bomb that declares a small size',
      make: () => withEntries({ ...packedZeros(256), size: 1000 }),
      reason: broken,
    },
    {
      what: 'a bomb of many entries',
      make: () =>
        withEntries(...Array.from({ length: 300 }, (_, i) => ({ ...oneMebi, name: `zeros${i}.dex` }))),
      reason: unpacks,
    },
    {
      what: 'an entry of 2^63 bytes',
      make: () => withEntries({ name: 'a', content: small, size: 0xffffffff, extra: u64(2n ** 63n) }),
      reason: /^Its entry a unpacks to more than 4294967294 bytes\.$/,
    },
    { what: 'entries that share one content', make: () => overlapping(manifest), reason: overlap },
    { what: 'an entry within another one', make: () => quoting(manifest), reason: overlap },
    {
      what: 'a symbolic link',
      make: () =>
        withEntries({ name: 'a', content: Buffer.from('/etc/passwd'), attributes: 0o120777 * 65536 }),
      reason: /^Its entry a is a link or device\.$/,
    },
    {
      what: 'a device',
      make: () => withEntries({ name: 'a', attributes: 0o020666 * 65536 }),
      reason: /^Its entry a is a link or device\.$/,
    },
    { what: 'an absolute name', make: named('/etc/passwd'), reason: leaves },
    { what: 'a name with a drive', make: named('C:/windows'), reason: leaves },
    { what: 'a name that goes up', make: named('lib/../../etc/passwd'), reason: leaves },
    { what: 'a name that goes up by backslashes', make: named('lib\\..\\..\\x'), reason: leaves },
    {
      what: 'a name with a zero byte',
      make: named('classes.dex\0.txt'),
      reason: /^The name of its entry .* is not in UTF-8\.$/,
    },
    {
      what: 'a name that is not UTF-8',
      make: named(Buffer.from([0x61, 0xff, 0xfe])),
      reason: /^The name of its entry .* is not in UTF-8\.$/,
    },
    {
      what: 'a name of 65,535 bytes',
      make: named('x'.repeat(65_535)),
      reason: /^It has an entry whose name has more than 1024 bytes\.$/,
    },
    {
      what: 'a second name that only some readers use',
      make: () =>
        withEntries({
          name: Buffer.from('AndroidManifest.xm1'),
          localName: 'AndroidManifest.xml',
          content: small,
        }),
      reason: /^Its entry AndroidManifest\.xm1 has another name in its own header\.$/,
    },
    {
      what: 'one name twice',
      make: () => withEntries({ name: 'a', content: small }, { name: 'a', content: small }),
      reason: /^It has more than one a\.$/,
    },
    {
      what: '2^32 entries',
      make: () => rawZip([manifest], { zip64: { entries: 2n ** 32n } }),
      reason: /^It has more than 100000 entries\.$/,
    },
    {
      what: 'more entries than are there',
      make: () => rawZip([manifest], { entries: 60_000 }),
      reason: broken,
    },
    {
      what: '100,001 entries',
      make: () => {
        const one = rawZip([{ name: 'a', content: small }]);
        const listing = one.subarray(31 + 14, one.length - 22);
        const many = Buffer.concat(Array<Buffer>(100_001).fill(listing));
        const start = one.subarray(0, 31 + 14);
        return Buffer.concat([
          ...[start, many],
          rawZip([], { entries: 100_001, offset: start.length, zip64: { ...many64(start, many) } }),
        ]);
      },
      reason: /^It has more than 100000 entries\.$/,
    },
    {
      what: 'a directory of 20 MB',
      make: () =>
        withEntries(
          ...Array.from({ length: 310 }, (_, i) => ({ name: `a${i}`, comment: Buffer.alloc(65_535, 'x') })),
        ),
      reason: /^Its directory has more than 16777216 bytes\.$/,
    },
    {
      what: 'a directory beyond the end',
      make: () => rawZip([manifest], { offset: 0xfffffff0 }),
      reason: broken,
    },
    {
      what: 'a directory in the middle of another record',
      make: () => rawZip([manifest], { offset: 7 }),
      reason: broken,
    },
    {
      what: 'a directory at 2^64',
      make: () => rawZip([manifest], { zip64: { offset: 2n ** 64n - 1n } }),
      reason: broken,
    },
    {
      what: 'a record of zip64 at 2^64',
      make: () => rawZip([manifest], { zip64: { recordOffset: 2n ** 64n - 1n } }),
      reason: broken,
    },
    {
      what: 'a wrong signature in the directory',
      make: () => withEntries({ name: 'a', content: small, signature: 0x02014b51 }),
      reason: broken,
    },
    {
      what: 'an extra field longer than its place',
      make: () => withEntries({ name: 'a', content: small, extra: Buffer.from([1, 0, 255, 255]) }),
      reason: broken,
    },
    {
      what: 'an entry that begins at 2^64',
      make: () => withEntries({ name: 'a', content: small, offset: 0xffffffff, extra: u64(2n ** 64n - 1n) }),
      reason: broken,
    },
    {
      what: 'an entry that ends beyond the file',
      make: () => withEntries({ name: 'a', content: small, packedSize: 0xfffffff0 }),
      reason: broken,
    },
    {
      what: 'an encrypted entry',
      make: () => withEntries({ name: 'a', content: small, flags: 1 }),
      reason: /^It has encrypted entries\.$/,
    },
    {
      what: 'an unknown compression',
      make: () => withEntries({ name: 'a', content: small, method: 93 }),
      reason: /^Its entry a is compressed in a way Android does not read\.$/,
    },
    {
      what: 'a compressed content that is none',
      make: () => withEntries({ name: 'a', packed: Buffer.alloc(200, 0xff), size: 10 }),
      reason: broken,
    },
    {
      what: 'a wrong checksum',
      make: () => withEntries({ name: 'a', content: small, checksum: 1 }),
      reason: /^Its entry a is broken\.$/,
    },
    {
      what: 'a manifest of 256 MiB',
      make: () => rawZip([{ ...packedZeros(256), name: manifestName }]),
      reason: unpacks,
    },
    {
      what: 'a manifest of 2 MiB',
      make: () => rawZip([{ ...packedZeros(2), name: manifestName }]),
      reason: /^Its AndroidManifest\.xml is larger than 1048576 bytes\.$/,
    },
    ...manifestBombs().map(([what, content]) => ({
      what,
      make: () => rawZip([{ name: manifestName, content }]),
      reason: /^AndroidManifest\.xml /,
    })),
  ];
}

/** A package that takes as long to unpack as its size allows: zeros, and enough other content for the ratio. */
export function longCheck(claimed: { package: string; version: string }, mebibytes: number, whole = true) {
  const parts = Math.ceil(mebibytes / 1024);
  const zeros = packedZeros(mebibytes / parts, whole);
  const entries = Array.from({ length: parts }, (_, i) => ({ ...zeros, name: `zeros${i}.dex` }));
  const filler = { name: 'a.bin', method: 0, content: randomBytes((mebibytes / 90) * mebi) };
  return withSigningBlock(rawZip([manifestOf(claimed), ...entries, filler]));
}

/** A package with a directory of the maximum size. */
export function largeDirectory(claimed: { package: string; version: string }): Buffer {
  const entries = Array.from({ length: 99_999 }, (_, i) => ({
    name: `${String(i).padStart(6, '0')}${'x'.repeat(112)}`,
    method: 0,
  }));
  return withSigningBlock(rawZip([manifestOf(claimed), ...entries]));
}

function manifestOf(claimed: { package: string; version: string }): RawEntry {
  const content = makeManifest({ package: claimed.package, versionName: claimed.version });
  return { name: manifestName, content };
}

/** Zip64 fields of the end record for the given bytes. */
function many64(start: Buffer, many: Buffer) {
  return {
    entries: 100_001n,
    offset: BigInt(start.length),
    recordOffset: BigInt(start.length + many.length),
  };
}
