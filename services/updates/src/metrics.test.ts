import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { Registry } from 'prom-client';
import { createMetrics } from './metrics.ts';

test('while the database is unavailable, only the metrics that need it are missing', async () => {
  const registry = new Registry();
  let away = false;
  const overdue = async () => {
    if (away) throw new DomainError('unavailable', 'away');
    return { count: 2, oldestDueAtMs: 1000 };
  };
  const contents = { running: () => 1, waiting: () => 0 };
  createMetrics(registry, { uploads: { overdue }, contents, clock: { now: () => 4000 } });
  const values = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^headset_updates_checks_\w+ /.test(line));
  const own = [
    'headset_updates_checks_running 1',
    'headset_updates_checks_waiting 0',
    'headset_updates_checks_postponed_total 0',
  ];
  const all = ['headset_updates_checks_due 2', 'headset_updates_checks_oldest_due_age_seconds 3', ...own];
  expect(await values()).toEqual(all);
  away = true;
  expect(await values()).toEqual(own);
  away = false;
  expect(await values()).toEqual(all);
});
