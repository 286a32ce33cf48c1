import { readFileSync } from 'node:fs';

/** An entry of a tar archive. The path has neither a leading `./` nor a trailing slash; the root is ''. */
export interface TarEntry {
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'link';
  /** Permission bits. */
  readonly mode: number;
  readonly data: Buffer;
  /** Target of a symbolic or hard link. */
  readonly target: string;
}

const block = 512;
const types: Record<string, TarEntry['type']> = {
  '0': 'file',
  '\0': 'file',
  '1': 'link',
  '2': 'symlink',
  '5': 'directory',
};
const nothing = Buffer.alloc(0);

const padded = (size: number) => Math.ceil(size / block) * block;
const textOf = (field: Buffer) => {
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? field.length : end);
};

/** A number of a header: octal digits, or GNU's form for large ones. */
function numberOf(field: Buffer): number {
  if ((field[0] ?? 0) & 0x80) return Number(field.readBigUInt64BE(field.length - 8));
  return Number.parseInt(textOf(field).trim() || '0', 8);
}

const plain = (path: string) => path.replace(/^(\.?\/)+/, '').replace(/(^|\/)\.?\/*$/, '');

/** The records of a pax header: `length key=value\n`. */
function paxRecords(data: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < data.length; ) {
    const space = data.indexOf(0x20, at);
    const length = Number(data.toString('utf8', at, space));
    if (!(length > 0)) throw new Error('tar: a pax record has no length');
    const record = data.toString('utf8', space + 1, at + length - 1);
    const equals = record.indexOf('=');
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

/** Reads an archive (ustar, pax, GNU). Device files and the like are left out. */
export function readTar(archive: Buffer): TarEntry[] {
  const entries: TarEntry[] = [];
  let pax = new Map<string, string>();
  let longPath: string | undefined;
  let longTarget: string | undefined;
  for (let at = 0; at + block <= archive.length; ) {
    const header = archive.subarray(at, at + block);
    if (header[0] === 0) break;
    const size = Number(pax.get('size') ?? numberOf(header.subarray(124, 136)));
    const data = archive.subarray(at + block, at + block + size);
    if (data.length < size) throw new Error('tar: the archive is cut off');
    at += block + padded(size);
    const flag = String.fromCharCode(header[156] ?? 0);
    if (flag === 'x') {
      pax = paxRecords(data);
      continue;
    }
    if (flag === 'L' || flag === 'K') {
      if (flag === 'L') longPath = textOf(data);
      else longTarget = textOf(data);
      continue;
    }
    const prefix = header.toString('latin1', 257, 262) === 'ustar' ? textOf(header.subarray(345, 500)) : '';
    const short = textOf(header.subarray(0, 100));
    const path = pax.get('path') ?? longPath ?? (prefix ? `${prefix}/${short}` : short);
    const target = pax.get('linkpath') ?? longTarget ?? textOf(header.subarray(157, 257));
    const type = types[flag];
    if (type) {
      const mode = numberOf(header.subarray(100, 108)) & 0o7777;
      const isFile = type === 'file';
      entries.push({ path: plain(path), type, mode, target, data: isFile ? data : nothing });
    }
    [pax, longPath, longTarget] = [new Map(), undefined, undefined];
  }
  return entries;
}

/** Header fields in octal; owner root, time 0: 1 January 1970. */
function headerOf(path: string, flag: string, mode: number, size: number, target: string): Buffer {
  const header = Buffer.alloc(block);
  const octal = (value: number, at: number, width: number) =>
    header.write(value.toString(8).padStart(width - 1, '0'), at, 'latin1');
  header.write(path, 0, 100, 'utf8');
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  header.fill(' ', 148, 156);
  header.write(flag, 156, 'latin1');
  header.write(target, 157, 100, 'utf8');
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest);
  while (String(length).length + Buffer.byteLength(rest) !== length)
    length = String(length).length + Buffer.byteLength(rest);
  return `${length}${rest}`;
}

const flags: Record<TarEntry['type'], string> = { file: '0', link: '1', symlink: '2', directory: '5' };

/** Writes entries in the given order. The bytes depend on the entries alone: owner root, time 0. */
export function writeTar(entries: Iterable<TarEntry>): Buffer {
  const parts: Buffer[] = [];
  const add = (header: Buffer, data: Buffer) =>
    parts.push(header, data, Buffer.alloc(padded(data.length) - data.length));
  for (const { path, type, mode, data, target } of entries) {
    const name = type === 'directory' ? `${path}/` : path;
    const long = [
      Buffer.byteLength(name) > 100 ? paxRecord('path', name) : '',
      Buffer.byteLength(target) > 100 ? paxRecord('linkpath', target) : '',
    ].join('');
    if (long) add(headerOf('pax', 'x', 0o644, Buffer.byteLength(long), ''), Buffer.from(long));
    add(headerOf(name, flags[type], mode, data.length, target), data);
  }
  parts.push(Buffer.alloc(2 * block));
  return Buffer.concat(parts);
}

/**
 * The same entries in the one form that a layer of an image has here: sorted, each path once (the last
 * wins), hard links as files, plain permissions. Folders for temporary files stay writable for all.
 */
export function normalised(entries: readonly TarEntry[]): TarEntry[] {
  const byPath = new Map<string, TarEntry>();
  for (const entry of entries) {
    if (entry.path === '') continue;
    const original = entry.type === 'link' ? byPath.get(plain(entry.target)) : undefined;
    if (entry.type === 'link' && !original)
      throw new Error(`tar: ${entry.path} links to ${entry.target}, which is not before it`);
    const { type, data, mode, target } = original ?? entry;
    byPath.set(entry.path, { path: entry.path, type, data, target, mode: plainMode(type, mode) });
  }
  return [...byPath.values()].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

function plainMode(type: TarEntry['type'], mode: number): number {
  if (type === 'symlink') return 0o777;
  if (type === 'directory') return (mode & 0o1002) === 0o1002 ? 0o1777 : 0o755;
  return mode & 0o100 ? 0o755 : 0o644;
}

export const readTarFile = (file: string): TarEntry[] => readTar(readFileSync(file));
