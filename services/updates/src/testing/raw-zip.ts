import { crc32, deflateRawSync } from 'node:zlib';

/** An entry as it is written to the file. Absent fields get correct values. */
export interface RawEntry {
  readonly name: string | Buffer;
  readonly content?: Buffer;
  readonly method?: number;
  /** Bytes written in place of the compressed content. */
  readonly packed?: Buffer;
  /** Size in the directory. */
  readonly size?: number;
  readonly packedSize?: number;
  readonly checksum?: number;
  readonly flags?: number;
  readonly attributes?: number;
  readonly extra?: Buffer;
  readonly comment?: Buffer;
  readonly signature?: number;
  /** Offset of the entry in the directory. */
  readonly offset?: number;
  /** Name in the entry's own header. */
  readonly localName?: string;
  readonly localMethod?: number;
  /** True if the entry is only in the directory. */
  readonly listedOnly?: boolean;
}

/** Values in the end record that replace the correct values. */
export interface RawEnd {
  readonly entries?: number;
  readonly offset?: number;
  /** Adds the zip64 records with these numbers. */
  readonly zip64?: { entries?: bigint; offset?: bigint; recordOffset?: bigint };
}

/** Writes a zip in which the caller can make any field wrong. */
export function rawZip(entries: readonly RawEntry[], end: RawEnd = {}): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const whole = wholeOf(entry, at);
    directory.push(listing(whole));
    if (entry.listedOnly) continue;
    const file = Buffer.concat([localHeader(whole), whole.packed]);
    files.push(file);
    at += file.length;
  }
  const listed = Buffer.concat(directory);
  const zip64 = end.zip64 && records64(end.zip64, at, listed.length, entries.length);
  const last = fields([
    ...([
      [4, 0x06054b50],
      [2, 0],
      [2, 0],
      [2, Math.min(0xffff, end.entries ?? entries.length)],
      [2, Math.min(0xffff, end.entries ?? entries.length)],
    ] as Field[]),
    [4, listed.length],
    [4, end.offset ?? at],
    [2, 0],
  ]);
  return Buffer.concat([...files, listed, ...(zip64 ? [zip64] : []), last]);
}

type Whole = Required<Omit<RawEntry, 'localName' | 'listedOnly' | 'content' | 'name'>> & {
  readonly name: Buffer;
  readonly localName: Buffer;
};

function wholeOf(entry: RawEntry, at: number): Whole {
  const content = entry.content ?? Buffer.alloc(0);
  const method = entry.method ?? 8;
  const packed = entry.packed ?? (method === 8 ? deflateRawSync(content) : content);
  const name = Buffer.from(entry.name as string);
  return {
    size: content.length,
    packedSize: packed.length,
    checksum: crc32(content),
    flags: 0,
    attributes: 0,
    extra: Buffer.alloc(0),
    comment: Buffer.alloc(0),
    signature: 0x02014b50,
    offset: at,
    localMethod: method,
    ...entry,
    ...{ method, packed, name },
    localName: entry.localName === undefined ? name : Buffer.from(entry.localName),
  };
}

type Field = [bytes: number, value: number | bigint];

function fields(all: readonly Field[]): Buffer {
  const bytes = Buffer.alloc(all.reduce((sum, [size]) => sum + size, 0));
  let at = 0;
  for (const [size, value] of all) {
    if (size === 8) bytes.writeBigUInt64LE(BigInt(value), at);
    else bytes.writeUIntLE(Number(value), at, size);
    at += size;
  }
  return bytes;
}

function localHeader({ localName, localMethod, flags, checksum, packedSize, size }: Whole): Buffer {
  const numbers = fields([
    ...([
      [4, 0x04034b50],
      [2, 20],
      [2, flags],
      [2, localMethod],
      [4, 0x21 << 16],
      [4, checksum],
    ] as Field[]),
    [4, packedSize],
    [4, size],
    [2, localName.length],
    [2, 0],
  ]);
  return Buffer.concat([numbers, localName]);
}

function listing(entry: Whole): Buffer {
  const { name, method, flags, checksum, packedSize, size, extra, comment, attributes, offset, signature } =
    entry;
  const numbers = fields([
    ...([
      [4, signature],
      [2, (3 << 8) | 20],
      [2, 20],
      [2, flags],
      [2, method],
      [4, 0x21 << 16],
      [4, checksum],
    ] as Field[]),
    [4, packedSize],
    [4, size],
    [2, name.length],
    [2, extra.length],
    [2, comment.length],
    [2, 0],
    [2, 0],
    [4, attributes],
    [4, offset],
  ]);
  return Buffer.concat([numbers, name, extra, comment]);
}

function records64(of: NonNullable<RawEnd['zip64']>, at: number, length: number, entries: number): Buffer {
  const count = of.entries ?? BigInt(entries);
  return fields([
    ...([
      [4, 0x06064b50],
      [8, 44],
      [2, 45],
      [2, 45],
      [4, 0],
      [4, 0],
    ] as Field[]),
    [8, count],
    [8, count],
    [8, length],
    [8, of.offset ?? at],
    [4, 0x07064b50],
    [4, 0],
    [8, of.recordOffset ?? at + length],
    [4, 1],
  ]);
}
