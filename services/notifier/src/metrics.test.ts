import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { Registry } from 'prom-client';
import { createMetrics } from './metrics.ts';

test('each outcome has a counter of 0 before the first attempt, so that a scrape sees the first increase', async () => {
  const registry = new Registry();
  const backlog = async () => ({ count: 0, oldestCreatedAtMs: undefined });
  createMetrics(registry, { backlog }, async () => 0, systemClock);
  const outcomes = {
    headset_callback_attempts_total: ['delivered', 'failed', 'gone'],
    headset_signed_url_requests_total: ['answered', 'failed', 'not_set'],
    headset_test_callbacks_total: ['delivered', 'failed'],
  };
  for (const [name, each] of Object.entries(outcomes)) {
    const text = await registry.getSingleMetricAsString(name);
    expect(text.split('\n').filter((line) => !line.startsWith('#'))).toEqual(
      each.map((outcome) => `${name}{outcome="${outcome}"} 0`),
    );
  }
});

test('while the database is unavailable, only the metrics that need it are missing', async () => {
  const registry = new Registry();
  let away = false;
  const backlog = async () => {
    if (away) throw new DomainError('unavailable', 'away');
    return { count: 2, oldestCreatedAtMs: 1000 };
  };
  createMetrics(registry, { backlog }, async () => 0, { now: () => 4000 });
  const values = async () =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('headset_callback'));
  const others = (line: string) => !/_due/.test(line);
  const all = await values();
  expect(all).toEqual(
    expect.arrayContaining(['headset_callbacks_due 2', 'headset_callbacks_oldest_due_age_seconds 3']),
  );
  away = true;
  expect(await values()).toEqual(all.filter(others));
  away = false;
  expect(await values()).toEqual(all);
});
