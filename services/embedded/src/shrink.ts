import { canShrink, pragma } from './auto-vacuum.ts';
import type { EmbeddedDatabase } from './database.ts';
import { paced } from './pace.ts';

/** Pages that one write gives back: few, since it moves as many. */
const pagesAtOnce = 32;
/** Free pages that stay for what is written next: so many, and this part of all. */
const sparePages = 1024;
const sparePart = 0.1;

/**
 * Gives free pages back to the file system, a few at a time and with pauses, until few are free. The file
 * becomes shorter at the checkpoint that follows.
 */
export async function shrink(db: EmbeddedDatabase, signal: AbortSignal): Promise<void> {
  const { sql } = db;
  if (!canShrink(sql)) return;
  const give = sql.prepare(`PRAGMA incremental_vacuum(${pagesAtOnce})`);
  await paced(async () => {
    const spare = Math.max(sparePages, sparePart * pragma(sql, 'page_count'));
    if (pragma(sql, 'freelist_count') <= spare) return false;
    await db.write(() => give.all());
    return true;
  }, signal);
}
