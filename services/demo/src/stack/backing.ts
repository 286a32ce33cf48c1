import { join } from 'node:path';
import { orDemanded } from './demand.ts';
import { type KafkaBroker, kafkaMissing, startKafka } from './kafka.ts';
import { startMongo, whyNoMongo } from './mongo.ts';
import type { BackingServer } from './process.ts';
import { givenS3, makeBucket, type S3Environment, startS3, whyNoS3 } from './s3.ts';

/** MongoDB, Kafka and S3 for the real stack: external servers, or servers that this process started. */
export interface Backing {
  readonly mongodbUri: string;
  readonly kafkaBrokers: string;
  /** Prefix of the platform's database names; default `headset_`. */
  readonly databasePrefix?: string;
  /** Prefix of the platform's topics and consumer groups on a shared broker: KAFKA_PREFIX. */
  readonly kafkaPrefix: string;
  /** Defined only for a server that this process started; only such a server can be killed. */
  readonly mongo: BackingServer | undefined;
  readonly kafka: BackingServer | undefined;
  readonly s3: BackingServer | undefined;
  /** Settings of the bucket; undefined: files are stored on disk. */
  readonly s3Environment: S3Environment | undefined;
  stop(): Promise<void>;
}

/** Addresses of servers that several platforms share. */
export type SharedBacking = Pick<Backing, 'mongodbUri' | 'kafkaBrokers' | 's3Environment'>;

/**
 * Settings for another platform on running servers. Its databases, topics and bucket start with `name`. `stop` does
 * not stop the servers.
 */
export async function shareBacking(shared: SharedBacking, name: string): Promise<Backing> {
  const { mongodbUri, kafkaBrokers, s3Environment: s3 } = shared;
  const s3Environment = s3 && { ...s3, S3_BUCKET: name };
  if (s3Environment) await makeBucket(s3Environment);
  return {
    ...{ mongodbUri, kafkaBrokers, s3Environment },
    ...{ databasePrefix: `${name}_`, kafkaPrefix: `${name}.` },
    ...{ mongo: undefined, kafka: undefined, s3: undefined },
    stop: () => Promise.resolve(),
  };
}

/** Returns why the real stack cannot run on this machine; undefined if it can. */
export function realStackMissing(): string | undefined {
  const reasons = [
    process.env['MONGODB_URI'] ? undefined : whyNoMongo(),
    process.env['KAFKA_BROKERS'] ? undefined : kafkaMissing(),
  ].filter((r) => r !== undefined);
  return reasons.length > 0 ? reasons.join('; ') : undefined;
}

/**
 * Uses MONGODB_URI, KAFKA_BROKERS (with KAFKA_PREFIX) and S3_ENDPOINT if they are set. Otherwise starts programs of
 * this machine on `host`.
 */
export async function startBacking(dir: string, host = '127.0.0.1'): Promise<Backing> {
  const missing = realStackMissing();
  if (missing) throw new Error(missing);
  const givenMongo = process.env['MONGODB_URI'];
  const givenKafka = process.env['KAFKA_BROKERS'];
  // S3 is optional: without it, files are stored on disk.
  const noS3 = orDemanded(whyNoS3());
  if (noS3) process.stderr.write(`Packages and firmware are stored on disk: ${noS3}.\n`);
  const given = await givenS3();
  const starting = [
    givenMongo ? undefined : restartableMongo(join(dir, 'mongo'), host),
    givenKafka ? undefined : startKafka({ dir: join(dir, 'kafka'), host }),
    given || noS3 ? undefined : startS3(join(dir, 's3'), host),
  ] as const;
  const [mongo, kafka, s3] = await Promise.all(starting).catch(async (error) => {
    // Stop the servers that have started, because the caller cannot.
    for (const one of await Promise.allSettled(starting))
      if (one.status === 'fulfilled') await one.value?.stop();
    throw error;
  });
  return {
    mongodbUri: givenMongo ?? mongo?.uri ?? '',
    kafkaBrokers: givenKafka ?? (kafka as KafkaBroker | undefined)?.brokers ?? '',
    kafkaPrefix: process.env['KAFKA_PREFIX'] ?? '',
    mongo,
    kafka,
    s3,
    s3Environment: given ?? s3?.environment,
    async stop() {
      await Promise.all([mongo?.stop(), kafka?.stop(), s3?.stop()]);
    },
  };
}

async function restartableMongo(
  dir: string,
  host: string,
): Promise<BackingServer & { uri: string; stop(): Promise<void> }> {
  let running = await startMongo(dir, undefined, { host });
  const { uri } = running;
  return {
    uri,
    get pid() {
      return running.pid;
    },
    async kill() {
      running.kill();
      // Wait for the end of the old process, which may still answer.
      await running.stop();
    },
    async restart() {
      await running.stop();
      running = await startMongo(dir, Number(new URL(uri).port), { host });
    },
    stop: () => running.stop(),
  };
}
