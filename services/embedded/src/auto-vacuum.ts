import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';

/** Up to this size a file of release 0.1.0 is rewritten at its first start, which takes some seconds; bytes. */
const largestRewrite = 256 * 1024 * 1024;
/** The value of `PRAGMA auto_vacuum`: `PRAGMA incremental_vacuum` gives free pages back. */
const incremental = 2;

/** Whether the file can give pages back. */
export function canShrink(sql: DatabaseSync): boolean {
  return pragma(sql, 'auto_vacuum') === incremental;
}

/**
 * Lets a file give back pages. That is decided when a file is made; an older one has to be rewritten once, which
 * a kill undoes. A large one, or one without the space for it, stays as it is: its free pages are used again,
 * but it does not become smaller.
 */
export function letShrink(sql: DatabaseSync, path: string, largest = largestRewrite): void {
  if (canShrink(sql) || statSync(path).size > largest) return;
  try {
    sql.exec('VACUUM');
  } catch {
    // No space, or another program reads the file.
  }
}

/** A number that SQLite tells of the file. */
export function pragma(sql: DatabaseSync, name: 'auto_vacuum' | 'page_count' | 'freelist_count'): number {
  const row = sql.prepare(`PRAGMA ${name}`).get() as Record<string, number>;
  return row[name] ?? 0;
}
