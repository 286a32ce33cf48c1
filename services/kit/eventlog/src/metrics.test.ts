import { withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { Registry } from 'prom-client';
import { withMetrics } from './metrics.ts';
import type { EventLog, Subscription } from './types.ts';

/** A log that implements only `subscribe` and `lag`. */
const logWith = (lag: (topic: string) => Promise<number>) =>
  ({
    subscribe: async () => ({ stop: async () => {} }),
    lag: (_group: string, topic: string) => lag(topic),
  }) as unknown as EventLog;

test('a lag that the log does not return in time is omitted; the others are shown', async () => {
  const registry = new Registry();
  let hangs = false;
  const log = withMetrics(
    logWith((topic) => (hangs && topic === 'hanging' ? new Promise(() => {}) : Promise.resolve(7))),
    registry,
  );
  for (const topic of ['hanging', 'answering'])
    await log.subscribe({ topic, group: 'test', handle: async () => {} } as Subscription);
  const lags = async () =>
    (await withDeadline(50, () => registry.getSingleMetricAsString('headset_consumer_lag_events')))
      .split('\n')
      .filter((line) => line.startsWith('headset_consumer_lag_events{'));
  expect(await lags()).toHaveLength(2);
  hangs = true;
  expect(await lags()).toEqual([expect.stringContaining('topic="answering"')]);
});

test('a log with groups that delay the deletion of events reports the age of the oldest unused group', async () => {
  const name = 'headset_log_unused_group_age_seconds';
  const [embedded, kafka] = [new Registry(), new Registry()];
  withMetrics({ unusedGroupAgeMs: () => 90_000 } as EventLog, embedded);
  withMetrics({} as EventLog, kafka);
  expect(await embedded.getSingleMetricAsString(name)).toMatch(
    /^headset_log_unused_group_age_seconds(\{.*\})? 90$/m,
  );
  expect(kafka.getSingleMetric(name)).toBeUndefined();
});
