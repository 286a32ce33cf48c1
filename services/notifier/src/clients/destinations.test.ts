import { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { bind, type Handlers } from '@headset-cloud/rpc/types.ts';
import { withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createDestinations } from './destinations.ts';

/** Devices, whose reads end when the test releases them. Each returns the key that was valid at its start. */
function devices() {
  let key = 'first';
  const reads: { application: string; answer(): void; fail(): void }[] = [];
  const handlers: Partial<Handlers<typeof ApplicationsService>> = {
    async getDestination({ applicationId }) {
      const answered = { url: 'https://example.com/', authenticationKey: key };
      await new Promise<void>((resolve, reject) => {
        const fail = () => reject(new DomainError('unavailable', 'away'));
        reads.push({ application: applicationId, answer: resolve, fail });
      });
      return answered;
    },
  };
  const channel = new LocalChannel();
  channel.register([bind(ApplicationsService, handlers as Handlers<typeof ApplicationsService>)]);
  const destinations = createDestinations(channel);
  return {
    reads,
    ask: (application = 'a-1') =>
      destinations.get(application, 'deviceEvent').then((found) => found?.authenticationKey),
    issue: (issued: string) => {
      key = issued;
    },
  };
}

test('a read serves the callers that came before it began, and the next read all later callers', async () => {
  const { reads, ask, issue } = devices();
  const early = [ask(), ask()];
  await waitFor('the first read', () => reads.length === 1);
  issue('second');
  const late = [ask(), ask(), ask()];
  reads[0]?.answer();
  expect(await Promise.all(early)).toEqual(['first', 'first']);
  await waitFor('the next read', () => reads.length === 2);
  reads[1]?.answer();
  expect(await Promise.all(late)).toEqual(['second', 'second', 'second']);
  expect(reads).toHaveLength(2);
});

test('a failed read fails the callers that it serves; the next read is made', async () => {
  const { reads, ask } = devices();
  const early = ask().catch((error: unknown) => (error as Error).message);
  await waitFor('the first read', () => reads.length === 1);
  const late = ask();
  reads[0]?.fail();
  expect(await early).toBe('away');
  await waitFor('the next read', () => reads.length === 2);
  reads[1]?.answer();
  expect(await late).toBe('first');
});

test('destinations do not wait for each other', async () => {
  const { reads, ask } = devices();
  const first = ask('a-1');
  await waitFor('the first read', () => reads.length === 1);
  const other = ask('a-2');
  await waitFor('the other read', () => reads.length === 2);
  reads[1]?.answer();
  expect(await other).toBe('first');
  reads[0]?.answer();
  await first;
});

test('callers that share one read keep their own deadlines', async () => {
  const time = createFakeTime();
  const { reads, ask } = devices();
  const first = expect(withDeadline(100, () => ask(), time)).rejects.toMatchObject({
    code: 'deadline_exceeded',
  });
  const second = withDeadline(1000, () => ask(), time);
  await waitFor('the read', () => reads.length === 1);
  await time.advance(100);
  await first;
  reads[0]?.answer();
  expect(await second).toBe('first');
});
