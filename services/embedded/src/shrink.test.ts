import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { canShrink, letShrink, pragma } from './auto-vacuum.ts';
import { databaseFile, openEmbeddedDatabase } from './database.ts';
import { paced } from './pace.ts';
import { createEmbeddedStore } from './store.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'embedded-shrink-'));
  path = join(directory, databaseFile);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const mib = 1024 * 1024;
const text = 'x'.repeat(4000);
const sizeOf = () => statSync(path).size;

/** A file as release 0.1.0 made it. */
function madeBefore(rows: number): void {
  const sql = new DatabaseSync(path);
  sql.exec('PRAGMA journal_mode = WAL; CREATE TABLE things (id INTEGER PRIMARY KEY, text TEXT)');
  const insert = sql.prepare('INSERT INTO things (id, text) VALUES (?, ?)');
  sql.exec('BEGIN');
  for (let id = 1; id <= rows; id++) insert.run(id, text);
  sql.exec('COMMIT');
  sql.close();
}

test('the file becomes smaller after much was deleted, and what is left is there', async () => {
  const db = openEmbeddedDatabase({ directory });
  const store = createEmbeddedStore(db);
  const things = store.database('a').collection<{ _id: number; text: string }>('things');
  await things.insertMany(Array.from({ length: 5000 }, (_, n) => ({ _id: n, text })));
  await things.deleteMany({ _id: { $lt: 4990 } });
  await store.sweepExpired();
  expect(await things.countDocuments()).toBe(10);
  await db.close();
  // 20 MiB were written; 4 MiB stay for what comes next.
  expect(sizeOf()).toBeLessThan(6 * mib);
  const again = openEmbeddedDatabase({ directory });
  const read = createEmbeddedStore(again).database('a').collection<{ _id: number; text: string }>('things');
  expect((await read.find({}, { sort: { _id: 1 } }).toArray()).map(({ _id }) => _id)).toEqual(
    Array.from({ length: 10 }, (_, n) => 4990 + n),
  );
  await again.close();
});

test('a file of release 0.1.0 is rewritten at its first start, keeps its data and can then shrink', async () => {
  madeBefore(3000);
  const db = openEmbeddedDatabase({ directory });
  const store = createEmbeddedStore(db);
  expect(canShrink(db.sql)).toBe(true);
  expect(db.sql.prepare('SELECT count(*) AS count FROM things').get()).toEqual({ count: 3000 });
  await db.write(() => db.sql.exec('DELETE FROM things WHERE id > 10'));
  await store.sweepExpired();
  expect(db.sql.prepare('SELECT count(*) AS count FROM things').get()).toEqual({ count: 10 });
  await db.close();
  expect(sizeOf()).toBeLessThan(6 * mib);
});

test('a large file of release 0.1.0, or one that another program holds, is used as it is', () => {
  madeBefore(10);
  const sql = new DatabaseSync(path);
  sql.exec('PRAGMA auto_vacuum = INCREMENTAL');
  letShrink(sql, path, 1000);
  expect(canShrink(sql)).toBe(false);
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  letShrink(sql, path);
  expect(canShrink(sql)).toBe(false);
  other.exec('ROLLBACK');
  other.close();
  expect(sql.prepare('SELECT count(*) AS count FROM things').get()).toEqual({ count: 10 });
  sql.close();
});

test('free pages that are soon needed again stay in the file', async () => {
  const db = openEmbeddedDatabase({ directory });
  const store = createEmbeddedStore(db);
  const things = store.database('a').collection<{ _id: number; text: string }>('things');
  await things.insertMany(Array.from({ length: 500 }, (_, n) => ({ _id: n, text })));
  await things.deleteMany({});
  const before = pragma(db.sql, 'freelist_count');
  expect(before).toBeGreaterThan(400);
  await store.sweepExpired();
  expect(pragma(db.sql, 'freelist_count')).toBeGreaterThanOrEqual(before);
  await db.close();
});

test('work with pauses ends after the piece in hand when it is told to stop', async () => {
  const stopping = new AbortController();
  let pieces = 0;
  await paced(async () => {
    pieces += 1;
    if (pieces === 3) stopping.abort();
    return true;
  }, stopping.signal);
  expect(pieces).toBe(3);
});
