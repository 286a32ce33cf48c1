import { randomUUID } from 'node:crypto';
import { createClient } from '@headset-cloud/eventlog/kafka-client.ts';
import { deadLetterTopic, type LogEvent, PoisonEventError } from '@headset-cloud/eventlog/types.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { jest } from '@jest/globals';
import { describeUnless } from '../support/skip.ts';
import { kafkaStack, openLog } from './eventlog-stacks.ts';

jest.setTimeout(90_000);
const patient = { timeoutMs: 30_000 };
const stack = kafkaStack();
const event = (value: string) => ({ key: 'k', value: Buffer.from(value) });
const text = ({ value }: LogEvent) => Buffer.from(value).toString();

describeUnless(stack.missing, 'two platforms on one broker, each with its KAFKA_PREFIX', () => {
  beforeAll(() => stack.start());
  afterAll(() => stack.stop());

  test('are isolated: events, offsets, lag and dead letters, under the platform’s own names', async () => {
    const topic = `t-${randomUUID()}`;
    const prefixes = [`one-${randomUUID()}.`, `two-${randomUUID()}.`];
    const platforms = await Promise.all(
      prefixes.map(async (prefix) => {
        const { log, close } = await openLog(stack.address(), { prefix });
        await log.ensureTopics([topic]);
        return { log, close, prefix, got: [] as LogEvent[] };
      }),
    );
    try {
      for (const { log, prefix } of platforms) {
        await log.publish(topic, [event(`for ${prefix}`), event('poison'), event('last')]);
      }
      for (const { log, got } of platforms) {
        expect(await log.lag('g', topic)).toBe(3);
        await log.subscribe({
          topic,
          group: 'g',
          async handle(events) {
            const poison = events.find((one) => text(one) === 'poison');
            if (poison) throw new PoisonEventError(poison, 'no');
            got.push(...events);
          },
        });
      }
      for (const { log, got, prefix } of platforms) {
        await waitFor('the last event', () => got.some((one) => text(one) === 'last'), patient);
        expect([...new Set(got.map(text))]).toEqual([`for ${prefix}`, 'last']);
        expect(new Set(got.map((one) => one.topic))).toEqual(new Set([topic]));
        await waitFor('its offsets to be committed', async () => (await log.lag('g', topic)) === 0, patient);
        expect((await log.readNewest(topic, 5)).map(text)).toEqual([`for ${prefix}`, 'poison', 'last']);
        const dead = await log.readNewest(deadLetterTopic(topic), 5);
        expect(
          dead.map((one) => [text(one), one.topic, one.headers['dead-position']?.split('/')[0]]),
        ).toEqual([['poison', deadLetterTopic(topic), topic]]);
      }
      const [prefix = ''] = prefixes;
      const waiting = await openLog(stack.address(), { prefix, makeTopics: false });
      try {
        await waiting.log.ensureTopics([topic]);
        await expect(waiting.log.ensureTopics(['other'])).rejects.toThrow(
          `Topics are missing: ${prefix}other, `,
        );
      } finally {
        await waiting.close();
      }
      const [, brokers = ''] = stack.address().split('|');
      const logger = createLogger({ service: 'contract', level: 'silent' });
      const admin = createClient({
        ...{ brokers: brokers.split(','), clientId: 'contract', logger, onFatal: () => {} },
      }).admin();
      await admin.connect();
      const names = [
        ...(await admin.listTopics()),
        ...(await admin.listGroups()).groups.map(({ groupId }) => groupId),
      ].filter((name) => name.includes(topic));
      await admin.disconnect();
      const ofBoth = prefixes.flatMap((prefix) =>
        [topic, deadLetterTopic(topic), `g.${topic}`].map((name) => `${prefix}${name}`),
      );
      expect(names.sort()).toEqual(ofBoth.sort());
    } finally {
      await Promise.all(platforms.map(({ close }) => close()));
    }
  });
});
