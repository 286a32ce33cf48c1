import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { expect, it } from '@jest/globals';

type Last = Map<number, 'insert' | 'raise' | 'delete'>;

/** Runs the writer until this many acknowledgements, kills it, and returns the last acknowledged values. */
async function writeAndKill(directory: string, acknowledgements: number): Promise<Last> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'store-writer.ts'), directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const closed = once(child, 'close');
  await waitFor('acknowledged writes', () => {
    if (child.exitCode !== null) throw new Error(`the writer ended with ${child.exitCode}`);
    return output.split('\n').length > acknowledgements;
  });
  child.kill('SIGKILL');
  await closed;
  const last: Last = new Map();
  // The last line may be truncated; a line with a line end is complete.
  for (const line of output.split('\n').slice(0, -1)) {
    const [what, id] = line.split(' ');
    last.set(Number(id), what as 'insert');
  }
  return last;
}

it('every acknowledged write survives SIGKILL, three times in a row', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'store-durability-'));
  const acknowledged: Last = new Map();
  try {
    for (let round = 0; round < 3; round++) {
      for (const [id, what] of await writeAndKill(directory, 500)) acknowledged.set(id, what);
      const db = openEmbeddedDatabase({ directory });
      const store = createEmbeddedStore(db);
      const things = store.database('durability').collection<{ _id: number; value: number }>('things');
      const values = new Map((await things.find({}).toArray()).map(({ _id, value }) => [_id, value]));
      const lost = [...acknowledged].filter(([id, what]) => {
        const value = values.get(id);
        // Writes after the last acknowledgement may be present too.
        if (what === 'delete') return value !== undefined;
        if (value === undefined) return what === 'insert' || id % 5 > 0;
        return what === 'raise' && value !== 1;
      });
      expect(lost).toEqual([]);
      // The index agrees with the documents.
      const raised = [...values.values()].filter((value) => value === 1).length;
      expect(await things.countDocuments({ value: 1 })).toBe(raised);
      expect(db.sql.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
      await store.close();
      await db.close();
    }
    expect(acknowledged.size).toBeGreaterThan(400);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
