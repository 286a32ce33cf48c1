import { execFileSync } from 'node:child_process';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { EventLog } from '@headset-cloud/eventlog/types.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { jest } from '@jest/globals';
import { describeUnless } from '../support/skip.ts';
import { kafkaStack, openLog } from './eventlog-stacks.ts';

jest.setTimeout(120_000);

/** Kafka's name for a heartbeat request. */
const heartbeatKey = 12;
const sessionTimeoutMs = 3000;
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

  test('an answer from before the freeze does not confirm that it has its partitions', async () => {
    await log.ensureTopics(['frozen']);
    let held: (() => boolean) | undefined;
    const got: string[] = [];
    await log.subscribe({
      topic: 'frozen',
      group: 'g',
      handle: async (events, batch) => {
        held ??= batch.held;
        got.push(...events.map(({ value }) => Buffer.from(value).toString()));
      },
    });
    const publish = (value: string) => log.publish('frozen', [{ key: 'k', value: Buffer.from(value) }]);
    await publish('1');
    await waitFor('the partition to be held', () => held?.() === true, { timeoutMs: 60_000 });
    const write = Socket.prototype.write;
    const samples: boolean[] = [];
    const thawed = Promise.withResolvers<void>();
    const [, brokers = ''] = stack.address().split('|');
    const emptyGroup = [join(import.meta.dirname, 'kafka-empty-group.ts'), brokers, 'g.frozen'];
    // Frozen, as by SIGSTOP, when a heartbeat is on its way, until the broker has answered and ended the session.
    Socket.prototype.write = function (this: Socket, ...args: Parameters<typeof write>) {
      const [data] = args as unknown as [Buffer];
      const done = write.apply(this, args);
      if (Buffer.isBuffer(data) && data.length > 6 && data.readInt16BE(4) === heartbeatKey) {
        Socket.prototype.write = write;
        process.nextTick(() => {
          try {
            execFileSync(process.execPath, emptyGroup);
            thawed.resolve();
          } catch (error) {
            thawed.reject(error);
          }
        });
      }
      return done;
    } as typeof write;
    await thawed.promise;
    const published = publish('2');
    await waitFor(
      'the member to be back',
      () => {
        samples.push(held?.() === true);
        return got.includes('2');
      },
      { timeoutMs: 60_000, intervalMs: 1 },
    );
    await published;
    expect(samples).not.toContain(true);
  });
});
