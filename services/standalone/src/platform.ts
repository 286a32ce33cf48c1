import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildBilling } from '@headset-cloud/billing/build.ts';
import { billingConfigSpec } from '@headset-cloud/billing/config.ts';
import { billingFailpoints } from '@headset-cloud/billing/failpoints.ts';
import { buildCommunication } from '@headset-cloud/communication/build.ts';
import { communicationConfigSpec } from '@headset-cloud/communication/config.ts';
import { communicationFailpoints } from '@headset-cloud/communication/failpoints.ts';
import { buildConnectivity } from '@headset-cloud/connectivity/build.ts';
import { connectivityConfigSpec } from '@headset-cloud/connectivity/config.ts';
import { connectivityFailpoints } from '@headset-cloud/connectivity/failpoints.ts';
import { buildDeviceLink } from '@headset-cloud/device-link/build.ts';
import { deviceLinkConfig } from '@headset-cloud/device-link/config.ts';
import { deviceLinkFailpoints } from '@headset-cloud/device-link/failpoints.ts';
import { buildDevices } from '@headset-cloud/devices/build.ts';
import { devicesConfigSpec } from '@headset-cloud/devices/config.ts';
import { devicesFailpoints } from '@headset-cloud/devices/failpoints.ts';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { assembleGateway } from '@headset-cloud/gateway/assemble.ts';
import { gatewayConfigSpec } from '@headset-cloud/gateway/config.ts';
import { createAdminServer } from '@headset-cloud/kit/admin-server.ts';
import { systemClock } from '@headset-cloud/kit/clock.ts';
import { ConfigError, type ConfigSpec, readConfig } from '@headset-cloud/kit/config.ts';
import { deadLettersAdmin } from '@headset-cloud/kit/dead-letters/admin.ts';
import {
  type DeadLetters,
  deadLetterFailpoints,
  registerDeadLetters,
  withDeadLetters,
} from '@headset-cloud/kit/dead-letters/log.ts';
import { withMetrics } from '@headset-cloud/kit/eventlog/metrics.ts';
import { createFailpoints } from '@headset-cloud/kit/failpoints.ts';
import { createMetrics } from '@headset-cloud/kit/host.ts';
import { Lifecycle, untilSignal } from '@headset-cloud/kit/lifecycle.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { LocalChannel } from '@headset-cloud/kit/rpc/local.ts';
import { createSecretBox } from '@headset-cloud/kit/secrets.ts';
import type { Service, ServiceContext, ServiceName } from '@headset-cloud/kit/service.ts';
import { createTracing } from '@headset-cloud/kit/tracing.ts';
import { buildNotifier, notifierFailpoints } from '@headset-cloud/notifier/build.ts';
import { notifierConfigSpec } from '@headset-cloud/notifier/config.ts';
import { buildTransactions, transactionsFailpoints } from '@headset-cloud/transactions/build.ts';
import { transactionsConfig } from '@headset-cloud/transactions/config.ts';
import { buildUpdates } from '@headset-cloud/updates/build.ts';
import { updatesConfigSpec } from '@headset-cloud/updates/config.ts';
import { updatesFailpoints } from '@headset-cloud/updates/failpoints.ts';
import { createBuiltinIssuer, issuerAudience } from './builtin-issuer.ts';
import { standaloneConfig } from './config.ts';

/** The whole platform in one process on the embedded default (rule C5), until a signal. */
export async function runPlatform(given: Record<string, string | undefined>): Promise<void> {
  const config = readConfig(standaloneConfig, given);
  const issuerUrl = `http://${config.ISSUER_LISTEN.host}:${config.ISSUER_LISTEN.port}`;
  // The built-in issuer is the default one; addresses on this machine may receive callbacks and recordings.
  const env = {
    OIDC_ISSUER: issuerUrl,
    OIDC_AUDIENCE: issuerAudience,
    NOTIFIER_ALLOW_ADDRESSES: '127.0.0.0/8,::1/128',
    COMMUNICATION_ALLOW_ADDRESSES: '127.0.0.0/8,::1/128',
    ...given,
  };
  const configs = readAll(
    {
      gateway: gatewayConfigSpec,
      devices: devicesConfigSpec,
      transactions: transactionsConfig,
      deviceLink: deviceLinkConfig,
      notifier: notifierConfigSpec,
      updates: updatesConfigSpec,
      connectivity: connectivityConfigSpec,
      communication: communicationConfigSpec,
      billing: billingConfigSpec,
    },
    env,
  );
  const root = createLogger({ level: config.LOG_LEVEL });
  const logger = root.child({ service: 'platform' });
  const metrics = createMetrics('platform');
  const lifecycle = new Lifecycle(logger, { turnAwayMs: config.TURN_AWAY_MS });
  const signal = untilSignal();
  mkdirSync(config.DATA_DIR, { recursive: true });

  await lifecycle.start(createTracing('headset-cloud', given));
  const database = openEmbeddedDatabase({ directory: config.DATA_DIR });
  await lifecycle.start({
    name: 'database',
    start: async () => {},
    stop: () => database.close(),
    notReady: () => database.notReady(),
  });
  const stores = createEmbeddedStore(database);
  const log = withMetrics(createEmbeddedLog(database, logger), metrics);
  await lifecycle.start({ name: 'stores', start: async () => {}, stop: () => stores.close() });
  await lifecycle.start({ name: 'event log', start: async () => {}, stop: () => log.close() });

  const channel = new LocalChannel();
  const failpoints = createFailpoints(
    config.FAILPOINTS,
    [
      ...devicesFailpoints,
      ...transactionsFailpoints,
      ...deviceLinkFailpoints,
      ...notifierFailpoints,
      ...updatesFailpoints,
      ...connectivityFailpoints,
      ...communicationFailpoints,
      ...billingFailpoints,
      ...deadLetterFailpoints,
    ],
    given,
  );
  const secrets = createSecretBox(config.SECRET_KEY ?? ownSecret(config.DATA_DIR));
  const deadLetters: DeadLetters[] = [];
  const context = (name: ServiceName): ServiceContext => {
    const own = { store: stores.database(name), logger: root.child({ service: name }) };
    const keeping = withDeadLetters(log, { ...own, failpoints });
    deadLetters.push(keeping.deadLetters);
    return {
      ...own,
      clock: systemClock,
      log: keeping.log,
      channel: () => channel,
      secrets,
      metrics,
      failpoints,
      instanceId: `${name}-${randomUUID().slice(0, 8)}`,
    };
  };
  const services: Service[] = [
    buildDevices(context('devices'), configs.devices),
    buildTransactions(context('transactions'), configs.transactions),
    buildNotifier(context('notifier'), configs.notifier),
    buildUpdates(context('updates'), configs.updates),
    buildConnectivity(context('connectivity'), configs.connectivity),
    buildCommunication(context('communication'), configs.communication),
    buildBilling(context('billing'), configs.billing),
    buildDeviceLink(context('device-link'), configs.deviceLink, { exclusive: true }),
  ];
  for (const service of services) channel.register(service.rpc);
  registerDeadLetters(metrics, deadLetters);

  await lifecycle.start(
    createAdminServer({
      listen: config.ADMIN_LISTEN,
      token: config.ADMIN_TOKEN,
      bindings: [...services.flatMap((s) => s.admin), deadLettersAdmin(deadLetters)],
      metrics,
      notReady: () => lifecycle.notReady(),
      logger,
    }),
  );
  for (const service of services) await lifecycle.start(service);
  await lifecycle.start(createBuiltinIssuer(config, root.child({ service: 'issuer' })));
  await lifecycle.start(
    assembleGateway(configs.gateway, {
      channel: () => channel,
      logger: root.child({ service: 'gateway' }),
      clock: systemClock,
      metrics,
    }),
  );
  lifecycle.complete();
  logger.info('ready');
  logger.info({ signal: await signal }, 'stopping');
  await lifecycle.stop();
}

/** Reads several specifications; a wrong configuration names every bad key of all of them. */
function readAll<const S extends Record<string, ConfigSpec>>(
  specs: S,
  env: Record<string, string | undefined>,
): { [K in keyof S]: ReturnType<typeof readConfig<S[K]>> } {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, spec] of Object.entries(specs)) {
    try {
      values[name] = readConfig(spec, env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return values as { [K in keyof S]: ReturnType<typeof readConfig<S[K]>> };
}

/** Drawn on the first start and kept beside the data it protects: for a developer's machine only. */
function ownSecret(dataDir: string): string {
  const file = join(dataDir, 'secret.key');
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}
