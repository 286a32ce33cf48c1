import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogEvent, Subscription } from '@headset-cloud/eventlog/types.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { openEmbeddedDatabase } from './database.ts';
import { createEmbeddedLog } from './log.ts';
import { settleMs } from './log-group.ts';

const text = (event: LogEvent) => Buffer.from(event.value).toString();
const topic = 't';

test('members that leave together pass no event that is handled and not stored', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'members-'));
  const db = openEmbeddedDatabase({ directory });
  const time = createFakeTime();
  const log = createEmbeddedLog(db, createLogger({ service: 'test', level: 'silent' }), { time });
  await log.ensureTopics([topic]);
  const slow = Promise.withResolvers<void>();
  const got: string[] = [];
  const handle: Subscription['handle'] = async (events, batch) => {
    got.push(...events.map(text));
    if (events.some((event) => text(event) === '0')) {
      batch.settlesWith({ durable: new Promise(() => {}), hurry: () => {} });
    }
    if (events.some((event) => text(event) === '1')) await slow.promise;
  };
  const first = await log.subscribe({ topic, group: 'g', handle });
  for (const value of ['0', '1']) {
    await log.publish(topic, [{ key: 'k', value: Buffer.from(value) }]);
    await waitFor('it is handed over', () => got.includes(value));
  }
  const members = [first, await log.subscribe({ topic, group: 'g', handle })];
  const left = members.map((member) => member.close());
  // The member without a batch waits for the unstored events, then leaves before the other member.
  await time.advance(settleMs);
  await left[1];
  slow.resolve();
  let isLeft = false;
  left[0]?.then(() => {
    isLeft = true;
  });
  await waitFor('the other one to leave', async () => {
    await time.advance(settleMs);
    return isLeft;
  });
  const lag = await log.lag('g', topic);
  await log.close();
  await db.close();
  rmSync(directory, { recursive: true, force: true });
  expect(lag).toBe(2);
});

test('members of one group get no event while one of before is handled and not stored, so that they keep the order', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'members-'));
  const db = openEmbeddedDatabase({ directory });
  const log = createEmbeddedLog(db, createLogger({ service: 'test', level: 'silent' }));
  await log.ensureTopics([topic]);
  const stored = Promise.withResolvers<void>();
  const asked: string[] = [];
  const got: string[] = [];
  const held: boolean[] = [];
  const handle: Subscription['handle'] = async (events, batch) => {
    got.push(...events.map(text));
    held.push(batch.held());
    batch.settlesWith({ durable: stored.promise, hurry: () => asked.push(...events.map(text)) });
  };
  await log.subscribe({ topic, group: 'g', handle });
  await log.publish(topic, [{ key: 'k', value: Buffer.from('0') }]);
  await waitFor('the first', () => got.length === 1);
  await log.subscribe({ topic, group: 'g', handle });
  await log.publish(topic, [{ key: 'k', value: Buffer.from('1') }]);
  await waitFor('it is asked for', () => asked.length > 0);
  expect(got).toEqual(['0']);
  stored.resolve();
  await waitFor('the second', () => got.length === 2);
  expect(held).toEqual([true, false]);
  await log.close();
  await db.close();
  rmSync(directory, { recursive: true, force: true });
});
