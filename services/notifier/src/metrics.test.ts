import { systemClock } from '@headset-cloud/kit/clock.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { Registry } from 'prom-client';
import { createMetrics } from './metrics.ts';

test('attempts are 0 by each outcome before the first, so that a scrape sees the first one', async () => {
  const registry = new Registry();
  const backlog = async () => ({ count: 0, oldestCreatedAtMs: undefined });
  createMetrics(registry, { backlog }, systemClock, createLogger({ service: 'notifier', level: 'silent' }));
  const text = await registry.getSingleMetricAsString('headset_callback_attempts_total');
  expect(text.split('\n').filter((line) => !line.startsWith('#'))).toEqual(
    ['delivered', 'failed', 'gone'].map(
      (outcome) => `headset_callback_attempts_total{outcome="${outcome}"} 0`,
    ),
  );
});
