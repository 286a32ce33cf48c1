import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { Counter, Registry } from 'prom-client';
import { registerMetrics } from './metrics.ts';
import type { Queries } from './ports/queries.ts';

test('while the database is unavailable, only its values are missing; afterwards they return', async () => {
  let away = false;
  const answer = async () => {
    if (away) throw new DomainError('unavailable', 'unavailable');
    return 3;
  };
  const store = { countOpen: answer, countCancelRequests: answer, countDue: answer, oldestOpenAtMs: answer };
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
