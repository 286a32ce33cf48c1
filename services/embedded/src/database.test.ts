import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toDomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type EmbeddedDatabase, EmbeddedDatabaseError, openEmbeddedDatabase } from './database.ts';

let directory: string;
let db: EmbeddedDatabase;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'embedded-database-'));
  db = openEmbeddedDatabase({ directory });
  db.sql.exec('CREATE TABLE things (id INTEGER PRIMARY KEY, text TEXT)');
});

afterEach(async () => {
  await db.close();
  rmSync(directory, { recursive: true, force: true });
});

const add = (id: number, text = 'x') =>
  db.sql.prepare('INSERT INTO things (id, text) VALUES (?, ?)').run(id, text);
const ids = () =>
  db.sql
    .prepare('SELECT id FROM things ORDER BY id')
    .all()
    .map(({ id }) => id);

/** Creates a table whose violation SQLite detects only at the commit. */
function makeNextCommitFail(): void {
  db.sql.exec(`
    PRAGMA foreign_keys = ON;
    CREATE TABLE IF NOT EXISTS children (
      id INTEGER PRIMARY KEY, thing INTEGER REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED
    );
  `);
}

describe('the embedded database', () => {
  it('settles a write only after the commit, and commits all writes of one event loop iteration together', async () => {
    const settled: boolean[] = [];
    const writes = [1, 2, 3].map((id) =>
      db.write(() => add(id)).then(() => settled.push(db.hasPendingWrites)),
    );
    expect(db.hasPendingWrites).toBe(true);
    const { transaction } = db;
    await Promise.resolve();
    expect(settled).toEqual([]);
    await Promise.all(writes);
    expect(settled).toEqual([false, false, false]);
    expect(db.transaction).toBe(transaction + 1);
  });

  it('undoes only the write that throws, and rejects with its error after the commit', async () => {
    const results = await Promise.allSettled([
      db.write(() => add(1)),
      db.write(() => {
        add(2);
        throw new Error('changed my mind');
      }),
      db.write(() => add(3)),
    ]);
    expect(results.map((r) => r.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { message: 'changed my mind' } });
    expect(ids()).toEqual([1, 3]);
  });

  it('rolls back the whole transaction if a write throws that cannot be undone alone, and then works again', async () => {
    await db.write(() => add(1));
    let undone = 0;
    db.onUndo(() => {
      undone += 1;
    });
    const results = await Promise.allSettled([
      db.writeWithoutSavepoint(() => add(2)),
      db.writeWithoutSavepoint(() => {
        add(3);
        throw new Error('half written');
      }),
      db.writeWithoutSavepoint(() => add(4)),
    ]);
    expect(results.map((r) => r.status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    for (const result of results.slice(0, 2)) {
      expect((result as PromiseRejectedResult).reason).toBeInstanceOf(EmbeddedDatabaseError);
    }
    expect(undone).toBe(1);
    expect(ids()).toEqual([1, 4]);
  });

  it('makes a reader wait until its data is durable', async () => {
    await expect(db.untilDurable()).resolves.toBeUndefined();
    void db.write(() => add(1));
    await db.untilDurable();
    expect(db.hasPendingWrites).toBe(false);
  });

  it('rejects all writes and reads of an event loop iteration if its commit fails, rolls back, and then works again', async () => {
    makeNextCommitFail();
    let undone = 0;
    db.onUndo(() => {
      undone += 1;
    });
    const turn = [
      db.write(() => add(1)),
      db.write(() => db.sql.exec('INSERT INTO children VALUES (1, 99)')),
      db.untilDurable(),
    ];
    const results = await Promise.allSettled(turn);
    expect(results.map((r) => r.status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(undone).toBe(1);
    expect(ids()).toEqual([]);
    expect(db.notReady()).toContain('FOREIGN KEY');
    await db.write(() => add(2));
    expect(ids()).toEqual([2]);
    expect(db.notReady()).toBeUndefined();
  });

  it('reports a full disk with the fix, keeps acknowledged writes, and recovers when there is space', async () => {
    await db.write(() => add(1));
    db.sql.exec('PRAGMA max_page_count = 1');
    const full = db.write(() => add(2, 'y'.repeat(1_000_000)));
    await expect(full).rejects.toThrow(/disk is full: free some space/);
    const error = toDomainError(await full.catch((e: unknown) => e));
    expect(error.code).toBe('database_failed');
    expect(db.notReady()).toContain('full');
    expect(ids()).toEqual([1]);
    db.sql.exec('PRAGMA max_page_count = 100000');
    await waitFor('the probe to notice', () => db.notReady() === undefined);
  });

  describe('while a sync runs', () => {
    let waiting: ((error: Error | null) => void)[];
    beforeEach(async () => {
      await db.close();
      waiting = [];
      db = openEmbeddedDatabase({
        directory,
        walSync: { sync: (done) => waiting.push(done), close: () => {} },
      });
    });
    const answer = async (error: Error | null = null): Promise<void> => {
      await waitFor('the disk to be asked', () => waiting.length > 0);
      waiting.shift()?.(error);
    };
    afterEach(async () => {
      const closed = db.close();
      while (db.hasPendingWrites) await answer();
      await closed;
    });

    it('collects new writes in one transaction, and settles none before its own sync', async () => {
      const settled: number[] = [];
      const write = (id: number) => db.write(() => add(id)).then(() => settled.push(id));
      const first = write(1);
      await waitFor('the disk to be asked', () => waiting.length === 1);
      const { transaction } = db;
      const later = [write(2), new Promise(setImmediate).then(() => write(3))];
      await new Promise(setImmediate);
      await new Promise(setImmediate);
      expect({ settled, transaction: db.transaction, asked: waiting.length }).toEqual({
        ...{ settled: [], transaction, asked: 1 },
      });
      await answer();
      await first;
      expect(settled).toEqual([1]);
      await answer();
      await Promise.all(later);
      expect(settled).toEqual([1, 2, 3]);
      expect(db.durable).toBe(transaction);
    });

    it('settles in-order writes at the commit, and makes them durable with the next sync', async () => {
      const settled: string[] = [];
      const write = (id: number, settle?: 'in-order') =>
        db.write(() => add(id), settle).then(() => settled.push(`${id} ${settle ?? 'durable'}`));
      await Promise.all([write(1, 'in-order'), write(2, 'in-order')]);
      // No sync starts before a caller waits for it, or before the maximum age.
      expect({ settled, asked: waiting.length }).toEqual({
        settled: ['1 in-order', '2 in-order'],
        asked: 0,
      });
      await waitFor('the disk to be asked', () => waiting.length === 1);
      // The first writes are still being synced: in-order writes do not wait for them, a durable write does.
      const last = write(3);
      await write(4, 'in-order');
      expect(settled.at(-1)).toBe('4 in-order');
      const reader = db.untilDurable().then(() => settled.push('reader'));
      const { transaction } = db;
      await answer();
      await new Promise(setImmediate);
      expect(settled).toHaveLength(3);
      expect(db.durable).toBeLessThan(transaction - 1);
      await answer();
      await Promise.all([last, reader]);
      expect(settled.slice(3)).toEqual(['3 durable', 'reader']);
      expect({ durable: db.durable, hasPendingWrites: db.hasPendingWrites }).toEqual({
        durable: transaction - 1,
        hasPendingWrites: false,
      });
    });

    it('keeps earlier commits when a commit fails, and rejects all writes of the failed one', async () => {
      makeNextCommitFail();
      const first = db.write(() => add(1));
      await waitFor('the disk to be asked', () => waiting.length === 1);
      await db.write(() => add(2), 'in-order');
      const kept = db.untilDurable();
      const failed = Promise.allSettled([
        db.write(() => db.sql.exec('INSERT INTO children VALUES (1, 99)'), 'in-order'),
        db.write(() => add(3)),
      ]);
      expect((await failed).map((o) => o.status)).toEqual(['rejected', 'rejected']);
      await answer();
      await first;
      await answer();
      await kept;
      expect(ids()).toEqual([1, 2]);
    });

    it('rejects every write after a failed sync until a restart', async () => {
      const first = db.write(() => add(1));
      await waitFor('the disk to be asked', () => waiting.length === 1);
      await db.write(() => add(4), 'in-order');
      const committed = db.untilDurable();
      const outcomes = Promise.allSettled([first, committed, db.write(() => add(2)), db.untilDurable()]);
      await answer(Object.assign(new Error('i/o error'), { code: 'EIO' }));
      expect(new Set((await outcomes).map((o) => o.status))).toEqual(new Set(['rejected']));
      await expect(db.write(() => add(3))).rejects.toThrow(/Restart the process/);
      expect(db.notReady()).toContain('i/o error');
    });
  });

  it('runs checkpoints on another thread, so that the write-ahead log stays short', async () => {
    const path = join(directory, 'headset-cloud.db');
    const carriedBytes = 1_000_000;
    let rounds = 0;
    // The worker thread starts in the background.
    while (statSync(path).size < carriedBytes && rounds < 50_000) {
      rounds += 1;
      await db.write(() => add(rounds, 'y'.repeat(2000)));
    }
    expect(statSync(path).size).toBeGreaterThanOrEqual(carriedBytes);
    await db.close();
    db = openEmbeddedDatabase({ directory });
    expect(ids()).toHaveLength(rounds);
  }, 30_000);

  // protects against stores/files
  it('allows only its owner to read its files, including files that an earlier version left readable', async () => {
    const modes = (folder: string) =>
      readdirSync(folder)
        .filter((name) => name.startsWith('headset-cloud.db'))
        .map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8));
    const folder = join(directory, 'new');
    let other = openEmbeddedDatabase({ directory: folder });
    expect((statSync(folder).mode & 0o777).toString(8)).toBe('700');
    expect(new Set(modes(folder))).toEqual(new Set(['600']));
    await other.close();
    chmodSync(join(folder, 'headset-cloud.db'), 0o644);
    other = openEmbeddedDatabase({ directory: folder });
    other.sql.exec('CREATE TABLE things (id INTEGER PRIMARY KEY)');
    expect(modes(folder).length).toBeGreaterThan(1);
    expect(new Set(modes(folder))).toEqual(new Set(['600']));
    await other.close();
  });

  it('cannot be opened twice, by this process or by another', async () => {
    expect(() => openEmbeddedDatabase({ directory })).toThrow(/in use by another process/);
    const module = join(import.meta.dirname, 'database.ts');
    const script = `
      const { openEmbeddedDatabase } = await import(${JSON.stringify(module)});
      openEmbeddedDatabase({ directory: ${JSON.stringify(directory)} });`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(child.status).toBe(1);
    expect(child.stderr).toContain('in use by another process');
  });

  it('can be opened again after a close, with all written data', async () => {
    void db.write(() => add(7));
    await db.close();
    await expect(db.write(() => add(8))).rejects.toThrow(/closed/);
    db = openEmbeddedDatabase({ directory });
    expect(ids()).toEqual([7]);
  });

  it('names the directory that it cannot create', () => {
    expect(() => openEmbeddedDatabase({ directory: join(directory, 'headset-cloud.db', 'x') })).toThrow(
      /set another data directory/,
    );
  });
});

it('the queue for a hanging disk is bounded; further writes are rejected before they are written', async () => {
  const own = mkdtempSync(join(tmpdir(), 'embedded-database-'));
  const syncs: ((error: Error | null) => void)[] = [];
  const slow = openEmbeddedDatabase({
    directory: own,
    walSync: { sync: (done) => void syncs.push(done), close: () => {} },
  });
  try {
    slow.sql.exec('CREATE TABLE things (id INTEGER PRIMARY KEY)');
    const insert = slow.sql.prepare('INSERT INTO things (id) VALUES (NULL)');
    const first = slow.write(() => insert.run());
    await waitFor('the first sync', () => syncs.length === 1);
    const most = 20_000;
    const waiting = Array.from({ length: most - 1 }, () => slow.write(() => insert.run()));
    const refused = { code: 'unavailable', retryAfterMs: 1000 };
    await expect(slow.write(() => insert.run())).rejects.toMatchObject(refused);
    await expect(slow.write(() => insert.run(), 'in-order')).rejects.toMatchObject(refused);
    await expect(slow.untilDurable()).rejects.toMatchObject(refused);
    syncs.shift()?.(null);
    await first;
    await waitFor('the next sync', () => syncs.length === 1);
    syncs.shift()?.(null);
    await Promise.all(waiting);
    expect(slow.sql.prepare('SELECT count(*) AS n FROM things').get()).toEqual({ n: most });
    const last = slow.write(() => insert.run());
    await waitFor('one more sync', () => syncs.length === 1);
    syncs.shift()?.(null);
    await last;
  } finally {
    for (const done of syncs) done(null);
    await slow.close();
    rmSync(own, { recursive: true, force: true });
  }
});
