import { randomBytes } from 'node:crypto';
import type { KafkaNames } from '@headset-cloud/eventlog/kafka-names.ts';
import { Kafka, logLevel, Partitioners } from 'kafkajs';

/** An invalid event in a topic. */
export interface Poison {
  readonly topic: string;
  /** topic/partition:offset, as in dead letters. */
  readonly position: string;
}

/** Invalid protobuf: an unknown field number, and a length beyond the end of the message. */
const garbage = () => Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff]), randomBytes(8)]);
const each = 2;

/** Publishes invalid events between the events of the load. */
export async function poison(
  brokers: string,
  names: KafkaNames,
  topics: readonly string[],
): Promise<Poison[]> {
  const kafka = new Kafka({ brokers: brokers.split(','), clientId: 'poison', logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  try {
    const put: Poison[] = [];
    for (const topic of topics) {
      for (let i = 0; i < each; i++) {
        const sent = await producer.send({
          topic: names.topic(topic),
          messages: [{ key: `poison ${i}`, value: garbage() }],
        });
        for (const { partition, baseOffset } of sent) {
          put.push({ topic, position: `${topic}/${partition}:${baseOffset}` });
        }
      }
    }
    return put;
  } finally {
    await producer.disconnect();
  }
}
