import { parseArgs } from 'node:util';
import { raiseDeviceLink, runningInstance } from '@headset-cloud/device-link/store/raise.ts';
import { isUnused, raiseDevices } from '@headset-cloud/devices/store/raise.ts';
import { raiseNotifier } from '@headset-cloud/notifier/store/raise.ts';
import { moveDeadLettersOfLostLog } from '@headset-cloud/rules/dead-letters/lost-log.ts';
import type { RaiseReport, Raising } from '@headset-cloud/rules/raised.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { ConfigError, readConfig } from '@headset-cloud/runtime/config.ts';
import { createLogger, type Logger } from '@headset-cloud/runtime/logger.ts';
import { databaseOf, type ServiceName } from '@headset-cloud/runtime/service-names.ts';
import { openMongo } from '@headset-cloud/store/mongo.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { raiseTransactions } from '@headset-cloud/transactions/store/raise.ts';
import { allSteps } from './all-steps.ts';
import { prepareConfig } from './config.ts';

export interface RaiseOptions {
  readonly dryRun: boolean;
  /** True if the event log was lost, too, and a new log starts at offset 0. */
  readonly logLost: boolean;
}

/** Parses the arguments. Throws a ConfigError that names an unknown argument. */
export function raiseOptions(args: readonly string[]): RaiseOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { 'dry-run': { type: 'boolean' }, 'log-lost': { type: 'boolean' } },
    });
    return { dryRun: values['dry-run'] ?? false, logLost: values['log-lost'] ?? false };
  } catch (error) {
    throw new ConfigError([
      { setting: 'arguments', reason: `${(error as Error).message}. Example: --dry-run` },
    ]);
  }
}

/**
 * Advances numbers in databases that were restored from a backup (ADR 0035), because headsets, integrators and the
 * event log may remember higher values. No service may run meanwhile. May run any number of times, also after an
 * interrupted run: each run advances the numbers further. Throws if the databases are unused, or if device-link runs.
 */
export async function raise(
  database: (service: ServiceName) => Store,
  { dryRun, logLost }: RaiseOptions,
  logger: Logger,
): Promise<void> {
  if (await isUnused(database('devices'))) {
    const where = 'are the databases restored, and are their address, prefix or folder right?';
    throw new Error(`there is no application in the database of devices: ${where}`);
  }
  const running = await runningInstance(database('device-link'), systemClock);
  if (running) throw new Error(`device-link runs at ${running}: stop all services first`);
  const part = async (service: ServiceName, work: (raising: Raising) => Promise<RaiseReport>) => {
    const whole = (store: Store) => work({ store, nowMs: systemClock.now(), dryRun });
    const store = database(service);
    const report = await (store.forLongWork?.(whole) ?? whole(store));
    logger.info({ database: service, ...report }, dryRun ? 'would be raised' : 'raised');
  };
  await part('device-link', raiseDeviceLink);
  await part('devices', raiseDevices);
  await part('transactions', raiseTransactions);
  await part('notifier', raiseNotifier);
  if (logLost) {
    for (const service of Object.keys(allSteps) as (keyof typeof allSteps)[]) {
      await part(service, async ({ store }) => ({
        deadLetters: await moveDeadLettersOfLostLog(store, dryRun),
      }));
    }
  }
  logger.info(dryRun ? 'nothing was changed' : 'everything is raised');
}

/** Runs `raise` on the databases that MONGODB_URI names. */
export async function raiseMongo(
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
): Promise<void> {
  const { LOG_LEVEL, MONGODB_URI, MONGODB_DATABASE_PREFIX } = prepareConfig;
  const config = readConfig({ LOG_LEVEL, MONGODB_URI, MONGODB_DATABASE_PREFIX }, env);
  const options = raiseOptions(args);
  const mongo = openMongo({
    uri: config.MONGODB_URI,
    databasePrefix: config.MONGODB_DATABASE_PREFIX,
    appName: 'raise',
  });
  try {
    const logger = createLogger({ service: 'raise', level: config.LOG_LEVEL });
    await raise((service) => mongo.database(databaseOf(service)), options, logger);
  } finally {
    await mongo.close();
  }
}
