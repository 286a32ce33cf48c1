import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { Rejection } from '../apk/bounds.ts';
import { inspectPackage } from '../apk/inspect.ts';

/** Declared kind, name and size of an uploaded file. */
export type Declared =
  | { readonly kind: 'software'; readonly package: string; readonly version: string }
  | { readonly kind: 'firmware' };

/** Result of the check of a file's content. */
export type Verdict = { readonly sha256: string } | { readonly rejection: Rejection };

/** Checks an open file. Throws when it cannot be read. Reading blocks the thread. */
export async function checkFile(fd: number, declared: Declared): Promise<Verdict> {
  const rejection = declared.kind === 'software' ? await inspectPackage(fd, declared) : undefined;
  return rejection ? { rejection } : { sha256: hashOf(fd) };
}

/** SHA-256 of a file, hexadecimal. */
function hashOf(fd: number): string {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(1024 * 1024);
  for (let at = 0; ; ) {
    const bytesRead = readSync(fd, buffer, 0, buffer.length, at);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}
