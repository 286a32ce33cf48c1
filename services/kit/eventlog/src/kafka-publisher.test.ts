import { withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { expect, it } from '@jest/globals';
import type { Kafka } from 'kafkajs';
import { pino } from 'pino';
import { KafkaPublisher } from './kafka-publisher.ts';

const logger = pino({ level: 'silent' });
const event = (bytes: number) => ({ key: 'k', value: new Uint8Array(bytes) });

/** A broker that does not answer until `come`. */
function awayKafka() {
  const here = Promise.withResolvers<void>();
  let sent = 0;
  const producer = {
    connect: () => here.promise,
    disconnect: async () => {},
    sendBatch: async ({ topicMessages }: { topicMessages: { messages: unknown[] }[] }) => {
      for (const { messages } of topicMessages) sent += messages.length;
    },
  };
  const kafka = { producer: () => producer } as unknown as Kafka;
  return { kafka, come: () => here.resolve(), sent: () => sent };
}

/** Publishes until the publisher rejects, at most `most` times; accepted events wait. */
async function fill(publisher: KafkaPublisher, bytes: number, most: number) {
  const waiting: Promise<void>[] = [];
  for (let i = 0; i < most; i += 1) {
    let refusal: unknown;
    const one = publisher.publish('topic', [event(bytes)]).catch((error: unknown) => {
      refusal = error;
    });
    await Promise.resolve();
    await Promise.resolve();
    if (refusal) return { taken: waiting.length, refusal, settled: Promise.all(waiting) };
    waiting.push(one);
  }
  return { taken: waiting.length, refusal: undefined, settled: Promise.all(waiting) };
}

it.each([
  ['in number', 10, 50_000],
  ['in bytes', 1024 * 1024, 32],
])(
  'the queue has a bound %s while Kafka is unavailable; further events are rejected with a retry time',
  async (_, bytes, most) => {
    const broker = awayKafka();
    const publisher = new KafkaPublisher(broker.kafka, logger, 30_000);
    const { taken, refusal, settled } = await fill(publisher, bytes, most + 100);
    expect(refusal).toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
    expect(taken).toBeGreaterThan(most * 0.9);
    expect(taken).toBeLessThanOrEqual(most);
    broker.come();
    await settled;
    expect(broker.sent()).toBe(taken);
    // The queue has space again.
    await publisher.publish('topic', [event(bytes)]);
    await publisher.close();
  },
);

it('events of callers that gave up leave the queue, also while a request to Kafka hangs', async () => {
  const broker = awayKafka();
  const publisher = new KafkaPublisher(broker.kafka, logger, 50);
  const { taken, settled } = await fill(publisher, 1024 * 1024, 100);
  await settled;
  await waitFor('space in the queue', async () => {
    const again = await fill(publisher, 1024 * 1024, 1);
    return again.refusal === undefined;
  });
  expect(taken).toBeGreaterThan(20);
  broker.come();
  await publisher.close();
});

it("an unanswered request marks Kafka as unavailable, a caller's expired deadline does not", async () => {
  const time = createFakeTime();
  const answers: PromiseWithResolvers<void>[] = [];
  const producer = {
    connect: async () => {},
    disconnect: async () => {},
    sendBatch: () => {
      const answer = Promise.withResolvers<void>();
      answers.push(answer);
      return answer.promise;
    },
  };
  const publisher = new KafkaPublisher(
    { producer: () => producer } as unknown as Kafka,
    logger,
    10_000,
    time,
  );
  await waitFor('the connection', () => publisher.notReady() === undefined);
  const expired = withDeadline(100, () => publisher.publish('topic', [event(1)]), time).catch(
    (error: unknown) => error,
  );
  await waitFor('the request', () => answers.length === 1);
  await time.advance(100);
  expect(await expired).toMatchObject({
    code: 'unavailable',
    internal: expect.stringContaining('not published within 100 ms'),
  });
  expect(publisher.notReady()).toBeUndefined();
  await time.advance(9899);
  expect(publisher.notReady()).toBeUndefined();
  await time.advance(1);
  expect(publisher.notReady()).toBe('Kafka does not answer');
  answers[0]?.resolve();
  await waitFor('the answer', () => publisher.notReady() === undefined);
  await publisher.close();
});
