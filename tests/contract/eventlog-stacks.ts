import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KafkaBroker, kafkaMissing, startKafka } from '@headset-cloud/demo/stack/kafka.ts';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { LogTopic } from '@headset-cloud/embedded/log-topic.ts';
import { connectKafka, type KafkaOptions } from '@headset-cloud/eventlog/kafka.ts';
import type { EventLog } from '@headset-cloud/eventlog/types.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';

/** One adapter of the EventLog port, as the contract suite and its child processes open it. */
export interface LogStack {
  readonly name: string;
  /** Why the adapter cannot run here. */
  readonly missing?: string | undefined;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The address with which a child process opens the same log: see `openLog`. */
  address(): string;
  /** The broker, if this process started one. */
  broker?(): KafkaBroker | undefined;
}

const logger = createLogger({
  service: 'contract',
  level: process.env['LOG_LEVEL'] ?? 'silent',
  destination: 2,
});

interface OpenLog {
  readonly log: EventLog;
  /** Number of events behind the position of a group that a crash does not lose. */
  storedLag(group: string, topic: string): Promise<number>;
  /** Closes the log and its database. */
  close(): Promise<void>;
}

/** Opens the log at an address, as a single process does. */
export async function openLog(address: string, kafka: Partial<KafkaOptions> = {}): Promise<OpenLog> {
  const [kind, place = ''] = address.split('|');
  if (kind === 'embedded') {
    const db = openEmbeddedDatabase({ directory: place });
    const log = createEmbeddedLog(db, logger);
    return {
      log,
      // The lag of the embedded log is computed from the position in memory.
      storedLag: async (group, name) => {
        const topic = await db.writeWithoutSavepoint(() => new LogTopic(db.sql, name));
        const position = topic.position(group) ?? 0;
        await db.untilDurable();
        return topic.committed - position;
      },
      close: async () => {
        await log.close();
        await db.close();
      },
    };
  }
  const log = connectKafka({
    brokers: place.split(','),
    clientId: 'contract',
    logger,
    replicationFactor: 1,
    sessionTimeoutMs: 6000,
    onFatal: (error) => {
      throw error;
    },
    ...kafka,
  });
  return { log, storedLag: (group, topic) => log.lag(group, topic), close: () => log.close() };
}

export function embeddedStack(): LogStack {
  let directory = '';
  return {
    name: 'the embedded log',
    start: async () => {
      directory = mkdtempSync(join(tmpdir(), 'embedded-log-'));
    },
    stop: async () => rmSync(directory, { recursive: true, force: true }),
    address: () => `embedded|${directory}`,
  };
}

/** The brokers of KAFKA_BROKERS, else a broker that is started here. */
export function kafkaStack(): LogStack {
  const given = process.env['KAFKA_BROKERS'];
  let directory = '';
  let broker: KafkaBroker | undefined;
  return {
    name: 'Kafka',
    missing: given ? undefined : kafkaMissing(),
    start: async () => {
      if (given) return;
      directory = mkdtempSync(join(tmpdir(), 'kafka-'));
      broker = await startKafka({ dir: directory });
    },
    stop: async () => {
      await broker?.stop();
      if (directory) rmSync(directory, { recursive: true, force: true });
    },
    address: () => `kafka|${given ?? broker?.brokers}`,
    broker: () => broker,
  };
}
