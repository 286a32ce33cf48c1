import { Socket } from 'node:net';
import type { EventLog } from '@headset-cloud/kit/eventlog/types.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { jest } from '@jest/globals';
import { describeUnless } from '../support/skip.ts';
import { kafkaStack, openLog } from './eventlog-stacks.ts';

jest.setTimeout(120_000);

/** Kafka's name for a heartbeat request. */
const heartbeatKey = 12;
const sessionTimeoutMs = 6000;
const stack = kafkaStack();

describeUnless(stack.missing, 'a member that was frozen', () => {
  let log: EventLog;
  let close: () => Promise<void>;
  beforeAll(() => stack.start());
  afterAll(() => stack.stop());
  beforeEach(async () => {
    ({ log, close } = await openLog(stack.address(), { sessionTimeoutMs }));
  });
  afterEach(() => close());

  test('does not take an answer of before it was frozen as a sign that it has its partitions', async () => {
    await log.ensureTopics(['frozen']);
    let held: (() => boolean) | undefined;
    await log.subscribe({
      topic: 'frozen',
      group: 'g',
      handle: async (_, batch) => {
        held ??= batch.held;
      },
    });
    await log.publish('frozen', [{ key: 'k', value: Buffer.from('1') }]);
    await waitFor('it is handled', () => held !== undefined, { timeoutMs: 60_000 });
    const write = Socket.prototype.write;
    const samples: boolean[] = [];
    const thawed = Promise.withResolvers<void>();
    // Stopped, as by SIGSTOP, when a heartbeat is on its way: the broker answers, and ends the session later.
    Socket.prototype.write = function (this: Socket, ...args: Parameters<typeof write>) {
      const [data] = args as unknown as [Buffer];
      const done = write.apply(this, args);
      if (Buffer.isBuffer(data) && data.length > 6 && data.readInt16BE(4) === heartbeatKey) {
        Socket.prototype.write = write;
        process.nextTick(() => {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.3 * sessionTimeoutMs);
          thawed.resolve();
        });
      }
      return done;
    } as typeof write;
    await thawed.promise;
    for (const endsAtMs = performance.now() + 3000; performance.now() < endsAtMs; ) {
      samples.push(held?.() === true);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(samples.filter((sample) => sample)).toHaveLength(0);
  });
});
