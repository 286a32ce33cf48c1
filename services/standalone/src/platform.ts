import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { billing } from '@headset-cloud/billing/definition.ts';
import { communication } from '@headset-cloud/communication/definition.ts';
import { connectivity } from '@headset-cloud/connectivity/definition.ts';
import { deviceLink } from '@headset-cloud/device-link/definition.ts';
import { devices } from '@headset-cloud/devices/definition.ts';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { assembleGateway } from '@headset-cloud/gateway/assemble.ts';
import { gatewayConfig } from '@headset-cloud/gateway/config.ts';
import { adminTokensOf, createAdminServer } from '@headset-cloud/kit/admin-server.ts';
import { createOperatorsOutbox, outboxComponent } from '@headset-cloud/kit/audit/operators-outbox.ts';
import { type AuditOutbox, auditFailpoints } from '@headset-cloud/kit/audit/outbox.ts';
import { systemClock } from '@headset-cloud/kit/clock.ts';
import { ConfigError, type ConfigProblem, readConfig } from '@headset-cloud/kit/config.ts';
import { type AuditedLetters, deadLettersAdmin } from '@headset-cloud/kit/dead-letters/admin.ts';
import {
  deadLetterFailpoints,
  registerDeadLetters,
  withDeadLetters,
} from '@headset-cloud/kit/dead-letters/log.ts';
import { doorLimits } from '@headset-cloud/kit/doors/config.ts';
import { openDoors } from '@headset-cloud/kit/doors/http-door.ts';
import { withMetrics } from '@headset-cloud/kit/eventlog/metrics.ts';
import { createFailpoints } from '@headset-cloud/kit/failpoints.ts';
import { createMetrics } from '@headset-cloud/kit/host.ts';
import { Lifecycle, untilSignal } from '@headset-cloud/kit/lifecycle.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { dayMs } from '@headset-cloud/kit/retention/config.ts';
import { LocalChannel } from '@headset-cloud/kit/rpc/local.ts';
import { secretsAdmin } from '@headset-cloud/kit/sealed/admin.ts';
import { createNotedKeys } from '@headset-cloud/kit/sealed/noted-keys.ts';
import { secretKeysOf } from '@headset-cloud/kit/secrets.ts';
import type { SealingContext, ServiceDefinition, ServiceName } from '@headset-cloud/kit/service.ts';
import { createStartUp, StartStoppedError } from '@headset-cloud/kit/start-up.ts';
import { createTracing } from '@headset-cloud/kit/tracing.ts';
import { notifier } from '@headset-cloud/notifier/definition.ts';
import { transactions } from '@headset-cloud/transactions/definition.ts';
import { updates } from '@headset-cloud/updates/definition.ts';
import { createBuiltinIssuer, issuerAudience } from './builtin-issuer.ts';
import { standaloneConfig } from './config.ts';

/** The services, in the order of their start. */
const definitions: readonly ServiceDefinition[] = [
  devices,
  transactions,
  notifier,
  updates,
  connectivity,
  communication,
  billing,
  deviceLink,
];

/** The whole platform in one process on the embedded default (rule C5), until a signal. */
export async function runPlatform(given: Record<string, string | undefined>): Promise<void> {
  const config = readConfig(standaloneConfig, given);
  const issuerUrl =
    config.ISSUER_PUBLIC_URL?.replace(/\/$/, '') ??
    `http://${config.ISSUER_LISTEN.host}:${config.ISSUER_LISTEN.port}`;
  // The built-in issuer is the default one; addresses on this machine may receive callbacks and recordings.
  const env = {
    OIDC_ISSUER: issuerUrl,
    OIDC_AUDIENCE: issuerAudience,
    NOTIFIER_ALLOW_ADDRESSES: '127.0.0.0/8,::1/128',
    COMMUNICATION_ALLOW_ADDRESSES: '127.0.0.0/8,::1/128',
    // What lies on this machine, the built-in issuer too, is behind no proxy.
    EGRESS_NO_PROXY: 'localhost,127.0.0.0/8,::1',
    ...given,
  };
  const problems: ConfigProblem[] = [];
  /** Collects the errors, so that a wrong configuration names the bad keys of all services. */
  const tried = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const ofGateway = tried(() => readConfig(gatewayConfig, env));
  const builds = definitions.map((definition) => tried(() => definition.configure(env)));
  if (!ofGateway || problems.length > 0) throw new ConfigError(problems);
  const metrics = createMetrics('platform');
  const root = createLogger({ level: config.LOG_LEVEL, metrics });
  const logger = root.child({ service: 'platform' });
  const doors = openDoors(doorLimits(config), metrics);
  const startUp = createStartUp(logger);
  const lifecycle = new Lifecycle(logger, {
    turnAwayMs: config.TURN_AWAY_MS,
    stopGraceMs: config.STOP_GRACE_MS,
    waitsFor: () => startUp.waitsFor(),
  });
  const signal = untilSignal();
  signal.finally(() => startUp.stop());
  // What the process writes is for its own user: secrets, tokens of the demo, files of the stores.
  process.umask(0o077);
  mkdirSync(config.DATA_DIR, { recursive: true });

  await lifecycle.start(createTracing('headset-cloud', given, metrics));
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
      ...definitions.flatMap((definition) => definition.failpoints),
      ...deadLetterFailpoints,
      ...auditFailpoints,
    ],
    given,
  );
  const { SECRET_KEY = ownSecret(config.DATA_DIR), SECRET_KEY_OTHERS } = config;
  const secrets = secretKeysOf({ SECRET_KEY, SECRET_KEY_OTHERS });
  const deadLetters: AuditedLetters[] = [];
  const outboxes = new Map<ServiceName, AuditOutbox>();
  const ownOf = (name: ServiceName) => ({
    store: stores.database(name),
    logger: root.child({ service: name }),
  });
  const context = (name: ServiceName): SealingContext => {
    const own = ownOf(name);
    const keeping = withDeadLetters(log, {
      ...{ ...own, failpoints },
      keepMs: config.DEAD_LETTERS_KEEP_DAYS * dayMs,
    });
    const audit = createOperatorsOutbox({ ...own, log, clock: systemClock, failpoints, metrics });
    outboxes.set(name, audit);
    deadLetters.push({ ...keeping.deadLetters, audit });
    return {
      ...own,
      database: (other) => stores.database(other),
      clock: systemClock,
      log: keeping.log,
      channel: () => channel,
      secrets,
      metrics,
      failpoints,
      instanceId: `${name}-${randomUUID().slice(0, 8)}`,
      exclusive: true,
      doors,
    };
  };
  const services = definitions.flatMap(({ name }, index) => builds[index]?.(context(name)) ?? []);
  for (const service of services) channel.register(service.rpc);
  registerDeadLetters(metrics, deadLetters);
  const sealed = services.flatMap(({ name, sealed: places }) => {
    if (!places) return [];
    const { store, logger } = ownOf(name);
    const audit = outboxes.get(name) as AuditOutbox;
    return [{ service: name, places, audit, noted: createNotedKeys({ store, logger, secrets }) }];
  });

  await lifecycle.start(
    createAdminServer({
      service: 'platform',
      listen: config.ADMIN_LISTEN,
      ...adminTokensOf(config),
      bindings: [
        ...services.flatMap((s) => s.admin),
        deadLettersAdmin(deadLetters),
        secretsAdmin(secrets, sealed),
      ],
      metrics,
      notReady: () => lifecycle.notReady(),
      warnings: () => lifecycle.warnings(),
      logger,
      doors,
    }),
  );
  try {
    for (const { noted } of sealed) await startUp.retry('the secret keys', () => noted.check());
  } catch (error) {
    if (!(error instanceof StartStoppedError)) throw error;
    return lifecycle.stop();
  }
  for (const service of services) await lifecycle.start(service);
  for (const outbox of outboxes.values()) await lifecycle.start(outboxComponent(outbox));
  await lifecycle.start(createBuiltinIssuer(config, root.child({ service: 'issuer' })));
  await lifecycle.start(
    assembleGateway(ofGateway, {
      channel: () => channel,
      logger: root.child({ service: 'gateway' }),
      clock: systemClock,
      metrics,
      doors,
    }),
  );
  lifecycle.complete();
  logger.info('ready');
  logger.info({ signal: await signal }, 'stopping');
  await lifecycle.stop();
}

/**
 * SECRET_KEY for a developer's machine: drawn at the first start and stored with the data that it protects.
 */
function ownSecret(dataDir: string): string {
  const file = join(dataDir, 'secret.key');
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}
