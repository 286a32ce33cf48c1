import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { Counter, Registry } from 'prom-client';
import { registerMetrics } from './metrics.ts';
import type { Queries } from './ports/queries.ts';

test('a database that is away leaves out its own values only, and they are back with it', async () => {
  let away = false;
  const answer = async () => {
    if (away) throw new DomainError('unavailable', 'away');
    return 3;
  };
  const store = { countOpen: answer, countWishes: answer, countDue: answer, oldestOpenAtMs: answer };
  const registry = new Registry();
  registerMetrics(registry, store as unknown as Queries, { now: () => 5003 });
  new Counter({ name: 'another', help: 'Of this process.', registers: [registry] }).inc();
  const values = async () =>
    (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

  const all = [
    ...['created', 'published', 'accepted'].map((state) => `headset_transactions_open{state="${state}"} 3`),
    'headset_transactions_revocations_open 3',
    'headset_transactions_due 3',
    ...['created', 'published', 'accepted'].map(
      (state) => `headset_transactions_oldest_open_age_seconds{state="${state}"} 5`,
    ),
    'another 1',
  ];
  expect(await values()).toEqual(all);
  away = true;
  expect(await values()).toEqual(['another 1']);
  away = false;
  expect(await values()).toEqual(all);
});
