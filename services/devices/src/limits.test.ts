import { untilDeadline, withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { createLimitsReader } from './limits.ts';

test('callers that share one read keep their own deadlines', async () => {
  const time = createFakeTime();
  const slow = Promise.withResolvers<{ callsPerSecond: number }>();
  const read = createLimitsReader(
    { limits: () => untilDeadline(slow.promise) } as never,
    { callsPerSecond: 1, callsBurst: 2 } as never,
    time,
  );
  const call = (ms: number) => withDeadline(ms, () => read('app'), time);
  const first = expect(call(100)).rejects.toMatchObject({ code: 'deadline_exceeded' });
  const second = call(1000);
  await time.advance(100);
  await first;
  slow.resolve({ callsPerSecond: 7 });
  expect(await second).toMatchObject({ callsPerSecond: 7 });
});
