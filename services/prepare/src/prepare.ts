import { randomUUID } from 'node:crypto';
import { auditSteps } from '@headset-cloud/billing/audit/documents.ts';
import { connectKafka } from '@headset-cloud/eventlog/kafka.ts';
import { warnOfOneReplica } from '@headset-cloud/eventlog/kafka-replicas.ts';
import { openKafkaSecurity } from '@headset-cloud/eventlog/kafka-security.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { untilSignal } from '@headset-cloud/runtime/lifecycle.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { databaseOf } from '@headset-cloud/runtime/service-names.ts';
import { createStartUp, StartStoppedError } from '@headset-cloud/runtime/start-up.ts';
import { openMongo } from '@headset-cloud/store/mongo.ts';
import { createStepRunner } from '@headset-cloud/store/schema/runner.ts';
import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';
import { allSteps } from './all-steps.ts';
import { prepareConfig } from './config.ts';

/** Time limit after a stop signal for releasing the current step and closing connections. */
const stopMs = 3000;

/**
 * Runs the missing steps of all databases and creates the missing topics. Waits for unavailable stores and for other
 * runs. Returns undefined when everything exists, or the signal that stopped the run before. Throws a ConfigError, and
 * errors that a retry cannot fix (an index that contradicts an existing one).
 */
export async function prepare(
  env: Readonly<Record<string, string | undefined>>,
  time: Time = systemTime,
): Promise<NodeJS.Signals | undefined> {
  const config = readConfig(prepareConfig, env);
  const logger = createLogger({ service: 'prepare', level: config.LOG_LEVEL });
  const startUp = createStartUp(logger);
  const stop = new AbortController();
  let stoppedBy: NodeJS.Signals | undefined;
  void untilSignal().then((signal) => {
    stoppedBy = signal;
    stop.abort(new StartStoppedError('stopped before everything was prepared'));
    startUp.stop();
  });
  const mongo = openMongo({
    uri: config.MONGODB_URI,
    databasePrefix: config.MONGODB_DATABASE_PREFIX,
    appName: 'prepare',
  });
  warnOfOneReplica(config, { logger, env });
  const log = connectKafka({
    brokers: config.KAFKA_BROKERS.split(','),
    clientId: 'prepare',
    logger,
    prefix: config.KAFKA_PREFIX,
    security: openKafkaSecurity(config, { logger, env }),
    partitions: config.KAFKA_PARTITIONS,
    replicationFactor: config.KAFKA_REPLICATION_FACTOR,
    onFatal: () => {},
  });
  const holder = `prepare-${randomUUID().slice(0, 8)}`;
  const inProgress = new Set<Promise<void>>();

  async function database(steps: ServiceSteps): Promise<void> {
    const store = mongo.database(steps.database ?? databaseOf(steps.service));
    const runner = createStepRunner({ store, steps, logger, holder, signal: stop.signal });
    await startUp.retry(`the steps of ${steps.database ?? steps.service}`, () => {
      const attempt = runner.attempt();
      inProgress.add(attempt);
      attempt.catch(() => {}).finally(() => inProgress.delete(attempt));
      return attempt;
    });
  }
  async function databases(): Promise<void> {
    // One after the other, so that the database of a running platform builds the indexes of one collection at a time.
    for (const steps of [...Object.values(allSteps), auditSteps]) await database(steps);
    logger.info('the databases are prepared');
  }
  async function allTopics(): Promise<void> {
    await startUp.retry('the topics', () => log.ensureTopics(Object.values(topics)));
    logger.info('the topics are prepared');
  }

  try {
    await Promise.all([databases(), allTopics()]);
    logger.info('everything is prepared');
    return undefined;
  } catch (error) {
    if (!(error instanceof StartStoppedError)) throw error;
    await Promise.race([Promise.allSettled(inProgress), time.sleep(stopMs)]);
    logger.info({ signal: stoppedBy }, 'stopped before everything was prepared');
    return stoppedBy;
  } finally {
    await Promise.race([Promise.allSettled([mongo.close(), log.close()]), time.sleep(stopMs)]);
  }
}
