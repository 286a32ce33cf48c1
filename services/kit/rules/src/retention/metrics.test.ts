import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { Registry } from 'prom-client';
import type { RetentionDocument } from './documents.ts';
import type { KeptKind } from './kinds.ts';
import { registerRetention } from './metrics.ts';

let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('billing');
});
afterEach(() => bed.remove());

test('if a store does not answer, only the metrics of its kind are left out', async () => {
  let away = false;
  const kind = (name: string, oldestMs: KeptKind['oldestMs']): KeptKind => ({
    ...{ kind: name, keepMs: 1000, find: async () => [], remove: async () => 0, oldestMs },
  });
  const failing = async () => {
    if (away) throw new Error('the disk is full');
    return 1000;
  };
  const metrics = new Registry();
  const states = bed.store.collection<RetentionDocument>('retention');
  registerRetention(metrics, {
    kinds: [kind('audit', failing), kind('usage', async () => 2000)],
    ...{ states, clock: { now: () => 5000 } },
  });
  const ages = async () =>
    (await metrics.metrics()).split('\n').filter((line) => line.startsWith('headset_retention_oldest_age'));
  const usage = 'headset_retention_oldest_age_seconds{kind="usage"} 3';
  expect(await ages()).toEqual(['headset_retention_oldest_age_seconds{kind="audit"} 4', usage]);
  away = true;
  expect(await ages()).toEqual([usage]);
  away = false;
  expect(await ages()).toHaveLength(2);
});
