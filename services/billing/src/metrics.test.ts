import { create, toBinary } from '@bufbuild/protobuf';
import { deadLetterTopic, topics } from '@headset-cloud/eventlog/types.ts';
import { UsageEventSchema } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { imei, openWorld, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const usage = (usageId: string, durationMs = 1000n) => ({
  usageId,
  deviceId: imei(1),
  startedAtMs: BigInt(Date.UTC(2026, 10, 10)),
  durationMs,
});

test('usage events are counted: taken, duplicate, conflicting, malformed', async () => {
  await world.use(usage('a'), usage('b'));
  expect(await world.metrics('headset_usage_events_total')).toEqual([
    'headset_usage_events_total{outcome="taken"} 2',
  ]);
  await world.use(usage('a'));
  await world.use(usage('b', 2000n));
  const value = toBinary(UsageEventSchema, create(UsageEventSchema, { usageId: 'only an id' }));
  await world.log.publish(topics.usage, [{ key: 'k', value }]);
  await waitFor('both dead letters', async () => {
    return (await world.log.readNewest(deadLetterTopic(topics.usage), 10)).length === 2;
  });
  expect((await world.metrics('headset_usage_events_total')).toSorted()).toEqual([
    'headset_usage_events_total{outcome="conflicting"} 1',
    'headset_usage_events_total{outcome="duplicate"} 1',
    'headset_usage_events_total{outcome="malformed"} 1',
    'headset_usage_events_total{outcome="taken"} 2',
  ]);
});

test('the time to compute a bill is measured, by outcome', async () => {
  await world.billing.getBill({ applicationId: 'app', year: 2026, month: 11 });
  await world.billing.getBill({ applicationId: 'app', year: 2026, month: 11 });
  await expect(world.billing.getBill({ applicationId: 'app', year: 2026, month: 13 })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
  const counts = (await world.metrics('headset_bill_seconds')).filter((line) => line.includes('_count'));
  expect(counts).toEqual([
    'headset_bill_seconds_count{outcome="ok"} 2',
    'headset_bill_seconds_count{outcome="invalid_argument"} 1',
  ]);
});
