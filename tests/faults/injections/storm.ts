import { setTimeout as delay } from 'node:timers/promises';
import type { KafkaNames } from '@headset-cloud/eventlog/kafka-names.ts';
import { Kafka, logLevel } from 'kafkajs';
import type { Fault } from '../fault.ts';

/** Number of consumers that join one after the other, and the minimum stay of each; milliseconds. */
const stayMs = 700;

/**
 * Additional consumers join and leave a consumer group. Each join and leave causes a rebalance. These consumers get
 * partitions but commit nothing, so other members receive the events again.
 */
export async function storm(
  brokers: string,
  names: KafkaNames,
  { group, topic, forMs }: Extract<Fault, { kind: 'storm' }>,
): Promise<string[]> {
  const kafka = new Kafka({ brokers: brokers.split(','), clientId: 'unknown', logLevel: logLevel.NOTHING });
  const untilMs = performance.now() + forMs;
  let joined = 0;
  const foreignConsumer = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const consumer = kafka.consumer({ groupId: names.group(group, topic), sessionTimeout: 6000 });
      consumer.on(consumer.events.GROUP_JOIN, () => {
        joined += 1;
      });
      try {
        await consumer.connect();
        await consumer.subscribe({ topics: [names.topic(topic)], fromBeginning: true });
        await consumer.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          eachBatch: () => delay(50),
        });
        await delay(stayMs);
      } catch {
        // The group is rebalancing: the next consumer tries again.
      } finally {
        await consumer.disconnect().catch(() => {});
      }
    }
  };
  await Promise.all([foreignConsumer(), foreignConsumer()]);
  return [`${joined} joined`];
}
