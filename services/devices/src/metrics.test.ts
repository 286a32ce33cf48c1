import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { Registry } from 'prom-client';
import { createMetrics } from './metrics.ts';

test('pending changes are missing while the database is unavailable, and return afterwards', async () => {
  const registry = new Registry();
  let away = false;
  createMetrics(registry, async () => {
    if (away) throw new DomainError('unavailable', 'away');
    return 3;
  });
  const values = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^headset_\S+ /.test(line));
  expect(await values()).toEqual(['headset_devices_pending_changes 3']);
  away = true;
  expect(await values()).toEqual([]);
  away = false;
  expect(await values()).toEqual(['headset_devices_pending_changes 3']);
});
