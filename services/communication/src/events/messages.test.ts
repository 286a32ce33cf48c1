import { fromBinary } from '@bufbuild/protobuf';
import { UsageEventSchema } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { videoUsage } from './messages.ts';

const idOf = (connectionId: string) =>
  fromBinary(
    UsageEventSchema,
    videoUsage({
      ...{
        isFirst: true,
        connectionId,
        applicationId: 'app',
        deviceId: null,
        startedAtMs: 1,
        durationMs: 1,
        traceparent: '',
      },
    }).value,
  ).usageId;

test('the usage id of a connection is always valid for billing', () => {
  expect(idOf('CONNECTION')).toBe('sora-CONNECTION');
  const hostile = ['a b', 'a\0', 'é', '😀', '\ud800', 'x'.repeat(255)].map(idOf);
  for (const id of hostile) expect(id).toMatch(/^[\x21-\x7e]{1,200}$/);
  expect(new Set(hostile).size).toBe(hostile.length);
  expect(idOf('é')).toBe(idOf('é'));
});
