import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedDatabase, openEmbeddedDatabase } from './database.ts';
import { createLogTables, LogTopic } from './log-topic.ts';

let directory: string;
let db: EmbeddedDatabase;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'headset-cloud-topic-'));
  db = openEmbeddedDatabase({ directory });
});

afterEach(async () => {
  await db.close();
  rmSync(directory, { recursive: true });
});

test('an event is read at its own offset, also when a later one was made known first', async () => {
  const topic = await db.write(() => {
    createLogTables(db.sql);
    return new LogTopic(db.sql, 'device-reports');
  });
  const append = (n: number) => db.write(() => topic.append([{ key: 'k', value: Buffer.of(n) }], 0));
  const appended = [await append(1), await append(2), await append(3)] as const;
  topic.advance(appended[0]);
  topic.advance(appended[2]);
  topic.advance(appended[1]);
  const read = [0, 1, 2].flatMap((after) => topic.read(after, 1));
  expect(read.map(({ offset, event }) => [offset, event.position, event.value[0]])).toEqual([
    [1, '0:1', 1],
    [2, '0:2', 2],
    [3, '0:3', 3],
  ]);
});
