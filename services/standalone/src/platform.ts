import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { billing } from '@headset-cloud/billing/definition.ts';
import { communication } from '@headset-cloud/communication/definition.ts';
import { connectivity } from '@headset-cloud/connectivity/definition.ts';
import { deviceLink } from '@headset-cloud/device-link/definition.ts';
import { devices } from '@headset-cloud/devices/definition.ts';
import { withMetrics } from '@headset-cloud/eventlog/metrics.ts';
import { assembleGateway } from '@headset-cloud/gateway/assemble.ts';
import { gatewayConfig } from '@headset-cloud/gateway/config.ts';
import { assembleShares } from '@headset-cloud/gateway/shares/assemble.ts';
import { notifier } from '@headset-cloud/notifier/definition.ts';
import type { commonConfig } from '@headset-cloud/process/common-config.ts';
import { ownSecretKey } from '@headset-cloud/process/own-secret-key.ts';
import { createProcess } from '@headset-cloud/process/process.ts';
import type { SealingContext, ServiceDefinition } from '@headset-cloud/process/service.ts';
import { GrpcChannel } from '@headset-cloud/rpc/grpc.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { peersPort } from '@headset-cloud/rpc/peers-port.ts';
import { openRpcSecurity } from '@headset-cloud/rpc/security.ts';
import { createOperatorsOutbox, outboxComponent } from '@headset-cloud/rules/audit/operators-outbox.ts';
import type { AuditOutbox } from '@headset-cloud/rules/audit/outbox.ts';
import { type AuditedDeadLetters, deadLettersAdmin } from '@headset-cloud/rules/dead-letters/admin.ts';
import { registerDeadLetters, withDeadLetters } from '@headset-cloud/rules/dead-letters/log.ts';
import { dayMs } from '@headset-cloud/rules/retention/config.ts';
import { secretsAdmin } from '@headset-cloud/rules/sealed/admin.ts';
import { createNotedKeys } from '@headset-cloud/rules/sealed/noted-keys.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import {
  addressText,
  ConfigError,
  type ConfigOf,
  type ConfigProblem,
  readConfig,
} from '@headset-cloud/runtime/config.ts';
import { secretKeysOf } from '@headset-cloud/runtime/secrets.ts';
import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';
import { createTracing } from '@headset-cloud/runtime/tracing.ts';
import { transactions } from '@headset-cloud/transactions/definition.ts';
import { updates } from '@headset-cloud/updates/definition.ts';
import { openEmbeddedBacking, openSharedBacking } from './backing.ts';
import { createBuiltinIssuer, issuerAudience } from './builtin-issuer.ts';
import { type SharedConfig, type StandaloneConfig, sharedConfig, standaloneConfig } from './config.ts';
import { logStores } from './log-stores.ts';

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

/** True if the stores are MongoDB and Kafka, which other processes may use, too. */
function isShared(env: Readonly<Record<string, string | undefined>>): boolean {
  return ['MONGODB_URI', 'MONGODB_URI_FILE', 'KAFKA_BROKERS'].some((key) => env[key]);
}

/** Defaults of the embedded stack that differ from the defaults of the services and the gateway. */
export function embeddedDefaults(
  config: StandaloneConfig,
  { NODE_ENV }: { readonly NODE_ENV?: string | undefined },
): Record<string, string> {
  const issuerUrl =
    config.ISSUER_PUBLIC_URL?.replace(/\/$/, '') ?? `http://${addressText(config.ISSUER_LISTEN)}`;
  // Callbacks and recordings may use addresses on this machine, except in production.
  const local = '127.0.0.0/8,::1/128';
  return {
    OIDC_ISSUER: issuerUrl,
    OIDC_AUDIENCE: issuerAudience,
    ...(NODE_ENV !== 'production' && {
      NOTIFIER_ALLOW_ADDRESSES: local,
      COMMUNICATION_ALLOW_ADDRESSES: local,
    }),
    // Addresses on this machine, for example of the built-in issuer, need no proxy.
    EGRESS_NO_PROXY: 'localhost,127.0.0.0/8,::1',
  };
}

/** Reads the settings of all parts. Throws a ConfigError that names the invalid settings. */
function readSettings(given: Record<string, string | undefined>) {
  const shared = isShared(given) ? readConfig(sharedConfig, given) : undefined;
  const embedded = shared ? undefined : readConfig(standaloneConfig, given);
  const env = embedded ? { ...embeddedDefaults(embedded, given), ...given } : given;
  const problems: ConfigProblem[] = [];
  /** Returns undefined if the settings are invalid, and adds the problems. */
  const collectProblems = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const ofGateway = collectProblems(() => readConfig(gatewayConfig, env));
  const builds = definitions.map((definition) => collectProblems(() => definition.configure(env)));
  if (!ofGateway || problems.length > 0) throw new ConfigError(problems);
  return {
    ...{ shared, embedded, env, ofGateway, builds },
    config: (shared ?? embedded) as ConfigOf<typeof commonConfig>,
  };
}

/**
 * Runs the whole platform in one process, until a signal: on the embedded stores (rule C5), or, if MONGODB_URI and
 * KAFKA_BROKERS are set, on MongoDB and Kafka, possibly with other processes like it (ADR 0048).
 */
export async function runPlatform(given: Record<string, string | undefined>): Promise<void> {
  const { shared, embedded, config, env, ofGateway, builds } = readSettings(given);
  const secrets = secretKeysOf(shared ?? keysOf(embedded as StandaloneConfig));
  const own = createProcess('platform', config);
  const { metrics, rootLogger: root, logger, listeners, startUp, lifecycle } = own;
  const security = shared && openRpcSecurity(shared, { logger, metrics, env }, 'device-link', 'gateway');
  logStores(logger, embedded?.DATA_DIR, env);
  // Only the process's user may read its files: secrets, tokens of the demo, stores.
  process.umask(0o077);
  if (embedded) mkdirSync(embedded.DATA_DIR, { recursive: true });

  await lifecycle.start(createTracing('headset-cloud', given, metrics));
  const backing = embedded
    ? openEmbeddedBacking(embedded.DATA_DIR, logger)
    : openSharedBacking('platform', shared as SharedConfig, { ...own, env });
  for (const component of backing.components) await lifecycle.start(component);
  const log = withMetrics(backing.log, metrics);

  const channel = new LocalChannel();
  const deadLetters: AuditedDeadLetters[] = [];
  const outboxes = new Map<ServiceName, AuditOutbox>();
  const partOf = (name: ServiceName) => ({
    store: backing.storeOf(name),
    logger: root.child({ service: name }),
  });
  const context = (name: ServiceName): SealingContext => {
    const part = partOf(name);
    const keeping = withDeadLetters(log, {
      ...{ ...part },
      keepMs: config.DEAD_LETTERS_KEEP_DAYS * dayMs,
    });
    const audit = createOperatorsOutbox({ ...part, log, clock: systemClock, metrics });
    outboxes.set(name, audit);
    deadLetters.push({ ...keeping.deadLetters, audit });
    return {
      ...part,
      database: (other) => backing.database(other),
      clock: systemClock,
      log: {
        ...keeping.log,
        ensureTopics: (names) => startUp.retry('the topics', () => keeping.log.ensureTopics(names)),
      },
      channel: () => channel,
      ...(shared && {
        channelToPeer: (address) => new GrpcChannel(address, {}, security && { security, service: name }),
        schema: shared.SCHEMA,
        starting: startUp,
      }),
      secrets,
      metrics,
      instanceId: `${name}-${randomUUID().slice(0, 8)}`,
      exclusive: embedded !== undefined,
      listeners,
    };
  };
  const services = definitions.flatMap(({ name }, index) => builds[index]?.(context(name)) ?? []);
  for (const service of services) channel.register(service.rpc);
  registerDeadLetters(metrics, deadLetters);
  const sealed = services.flatMap(({ name, sealed: locations }) => {
    if (!locations) return [];
    const { store, logger } = partOf(name);
    const audit = outboxes.get(name) as AuditOutbox;
    return [{ service: name, locations, audit, noted: createNotedKeys({ store, logger, secrets }) }];
  });

  await own.serveAdmin([
    ...services.flatMap((s) => s.admin),
    deadLettersAdmin(deadLetters),
    secretsAdmin(secrets, sealed),
  ]);
  const { shares, bindings, components } = assembleShares(
    { GATEWAY_PEERS: shared && ofGateway.GATEWAY_PEERS },
    { security, logger, clock: systemClock },
  );
  await own.run(async () => {
    await backing.storeOf('devices').whenReachable?.('the database', async () => {});
    for (const { noted } of sealed) await startUp.retry('the secret keys', () => noted.check());
    for (const service of services) await lifecycle.start(service);
    for (const outbox of outboxes.values()) await lifecycle.start(outboxComponent(outbox));
    if (shared) {
      // Processes call each other, because a headset's session and its transactions may be on different processes. The
      // gateways also exchange the clients' usage of limits.
      const link = services.filter(({ name }) => name === 'device-link').flatMap(({ rpc }) => rpc);
      await lifecycle.start(peersPort([...link, ...bindings], shared, { security, logger, metrics }));
      for (const component of components) await lifecycle.start(component);
    }
    if (embedded) await lifecycle.start(createBuiltinIssuer(embedded, root.child({ service: 'issuer' })));
    await lifecycle.start(
      assembleGateway(ofGateway, {
        channel: () => channel,
        logger: root.child({ service: 'gateway' }),
        clock: systemClock,
        metrics,
        listeners,
        shares,
      }),
    );
  });
}

function keysOf(config: StandaloneConfig): { SECRET_KEY: string; SECRET_KEY_OTHERS: string | undefined } {
  const { SECRET_KEY = ownSecretKey(config.DATA_DIR), SECRET_KEY_OTHERS } = config;
  return { SECRET_KEY, SECRET_KEY_OTHERS };
}
