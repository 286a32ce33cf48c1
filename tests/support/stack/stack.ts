import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceName } from '@headset-cloud/kit/service.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { request } from 'undici';
import type { AdminAddresses } from '../provision.ts';
import { type Backing, startBacking } from './backing.ts';
import { grpcAddresses, type Instance, type InstanceCounts, instancesOf } from './instances.ts';
import { freePorts } from './ports.ts';
import { type ManagedProcess, manageProcess } from './process.ts';

export type StackKind = 'embedded' | 'real';

/** A client of the issuer that stands in for the customer's identity provider. */
export interface IssuerClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A running platform, seen from outside. */
export interface Stack {
  readonly kind: StackKind;
  readonly dataDir: string;
  readonly apiUrl: string;
  readonly issuerUrl: string;
  readonly tokenUrl: string;
  /** host:port for headsets. */
  readonly deviceLinkUrl: string;
  /** The same, of every instance. */
  readonly deviceLinkUrls: readonly string[];
  /** Origin of the door for Sora's webhooks. */
  readonly soraWebhookUrl: string;
  readonly admin: AdminAddresses;
  /** Admin ports of all processes, for health and metrics. */
  readonly adminUrls: Readonly<Record<string, string>>;
  readonly clients: readonly IssuerClient[];
  /** The platform's processes by name; the embedded stack has one, 'platform'. */
  readonly processes: Readonly<Record<string, ManagedProcess>>;
  /** Where packages and firmware are loaded from and to, if not S3. */
  readonly filesUrl: string;
  /** MongoDB, Kafka and S3 of the real stack. */
  readonly backing: Backing | undefined;
  /** Resolves when every process says it is ready. */
  ready(timeoutMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export interface StackOptions {
  readonly kind: StackKind;
  /** Everything it writes; started there again, it goes on. */
  readonly dataDir: string;
  /** Clients the issuer knows. */
  readonly clients: readonly IssuerClient[];
  /** Services of the real stack that run several times. */
  readonly instances?: InstanceCounts;
  /** Added to the environment of every process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where the gateway reaches a service of the real stack, given its address: through something of the test's own. */
  readonly gatewayReaches?: (service: ServiceName, address: string) => string;
  /** Fixed ports: gateway, issuer, headsets, files, Sora's webhooks, admin; otherwise free ones, kept over restarts. */
  readonly ports?: FixedPorts;
}

const usingS3: readonly ServiceName[] = ['updates'];

/** Starts the platform on either stack and waits until it is ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { kind, dataDir } = options;
  mkdirSync(dataDir, { recursive: true });
  const instances = instancesOf(options.instances);
  const ports = await portsOf(options, instances);
  const clientsFile = join(dataDir, 'issuer-clients.json');
  writeFileSync(clientsFile, JSON.stringify(options.clients, null, 2), { mode: 0o600 });
  const issuerUrl = `http://127.0.0.1:${ports.issuer}`;
  const logFile = (name: string) => join(dataDir, 'logs', `${name}.log`);
  const common: Record<string, string> = {
    LOG_LEVEL: 'info',
    SECRET_KEY: secretOf(dataDir),
    DATA_DIR: dataDir,
    GATEWAY_LISTEN: `127.0.0.1:${ports.gateway}`,
    DEVICE_LINK_LISTEN: `127.0.0.1:${ports.deviceLink}`,
    COMMUNICATION_LISTEN: `127.0.0.1:${ports.sora}`,
    UPDATES_LISTEN: `127.0.0.1:${ports.files}`,
    ISSUER_LISTEN: `127.0.0.1:${ports.issuer}`,
    ISSUER_CLIENTS_FILE: clientsFile,
    OIDC_ISSUER: issuerUrl,
    OIDC_AUDIENCE: 'urn:headset-cloud:api',
    NOTIFIER_ALLOW_ADDRESSES: '127.0.0.0/8,::1/128',
    COMMUNICATION_ALLOW_ADDRESSES: '127.0.0.0/8,::1/128',
    ...options.env,
  };
  const backing = kind === 'real' ? await startBacking(join(dataDir, 'backing')) : undefined;
  const processes: Record<string, ManagedProcess> = {};
  const adminUrls: Record<string, string> = {};

  if (!backing) {
    adminUrls['platform'] = `http://127.0.0.1:${ports.admin}`;
    processes['platform'] = manageProcess({
      name: 'platform',
      entry: 'services/standalone/src/main.ts',
      env: { ...common, ADMIN_LISTEN: `127.0.0.1:${ports.admin}` },
      logFile: logFile('platform'),
    });
  } else {
    const shared = {
      ...common,
      ...grpcAddresses(instances, ports.grpc),
      MONGODB_URI: backing.mongodbUri,
      KAFKA_BROKERS: backing.kafkaBrokers,
      KAFKA_REPLICATION_FACTOR: '1',
    };
    processes['issuer'] = manageProcess({
      name: 'issuer',
      entry: 'services/standalone/src/issuer-main.ts',
      env: shared,
      logFile: logFile('issuer'),
    });
    for (const { service, name } of instances) {
      adminUrls[name] = `http://127.0.0.1:${ports.serviceAdmin[name]}`;
      processes[name] = manageProcess({
        name,
        entry: `services/${service}/src/main.ts`,
        env: {
          ...shared,
          ...(usingS3.includes(service) && backing.s3Environment),
          ...(name in ports.deviceLinks && { DEVICE_LINK_LISTEN: `127.0.0.1:${ports.deviceLinks[name]}` }),
          GRPC_LISTEN: `127.0.0.1:${ports.grpc[name]}`,
          ADVERTISE_ADDRESS: `127.0.0.1:${ports.grpc[name]}`,
          ADMIN_LISTEN: `127.0.0.1:${ports.serviceAdmin[name]}`,
        },
        logFile: logFile(name),
      });
    }
    adminUrls['gateway'] = `http://127.0.0.1:${ports.admin}`;
    processes['gateway'] = manageProcess({
      name: 'gateway',
      entry: 'gateway/src/main.ts',
      env: {
        ...shared,
        ...(options.gatewayReaches && reachedThrough(options.gatewayReaches, instances, ports.grpc)),
        ADMIN_LISTEN: `127.0.0.1:${ports.admin}`,
      },
      logFile: logFile('gateway'),
    });
  }

  const adminOf = (service: ServiceName) => adminUrls[service] ?? adminUrls['platform'] ?? '';
  const stack: Stack = {
    kind,
    dataDir,
    apiUrl: `http://127.0.0.1:${ports.gateway}`,
    issuerUrl,
    tokenUrl: `${issuerUrl}/token`,
    deviceLinkUrl: `127.0.0.1:${ports.deviceLink}`,
    deviceLinkUrls: [ports.deviceLink, ...Object.values(ports.deviceLinks)].map(
      (port) => `127.0.0.1:${port}`,
    ),
    soraWebhookUrl: `http://127.0.0.1:${ports.sora}`,
    filesUrl: `http://127.0.0.1:${ports.files}`,
    admin: {
      devices: adminOf('devices'),
      transactions: adminOf('transactions'),
      notifier: adminOf('notifier'),
      updates: adminOf('updates'),
      connectivity: adminOf('connectivity'),
      communication: adminOf('communication'),
      billing: adminOf('billing'),
    },
    adminUrls,
    clients: options.clients,
    processes,
    backing,
    async ready(timeoutMs = 120_000) {
      for (const [name, url] of Object.entries(adminUrls)) {
        await waitFor(
          `${name} to be ready`,
          async () => {
            if (!processes[name]?.running)
              throw new Error(`${name} ended:\n${processes[name]?.log().slice(-2000)}`);
            return isReady(url);
          },
          { timeoutMs, intervalMs: 20 },
        );
      }
    },
    async stop() {
      // The way in first, so that what is in hand can still be finished behind it.
      for (const name of Object.keys(processes).reverse()) await processes[name]?.stop();
      await backing?.stop();
    },
  };
  for (const p of Object.values(processes)) p.start();
  try {
    await stack.ready();
  } catch (error) {
    await stack.stop();
    throw error;
  }
  return stack;
}

function reachedThrough(
  way: (service: ServiceName, address: string) => string,
  instances: readonly Instance[],
  ports: Readonly<Record<string, number>>,
): Record<string, string> {
  return Object.fromEntries(
    instances.flatMap((one) =>
      Object.entries(grpcAddresses([one], ports)).map(([key, address]) => [key, way(one.service, address)]),
    ),
  );
}

async function isReady(adminUrl: string): Promise<boolean> {
  try {
    const answer = await request(`${adminUrl}/readyz`);
    await answer.body.dump();
    return answer.statusCode === 200;
  } catch {
    return false;
  }
}

interface FixedPorts {
  readonly gateway: number;
  readonly issuer: number;
  readonly deviceLink: number;
  /** Uploads and downloads of updates, on the embedded storage. */
  readonly files: number;
  /** Sora's webhooks. */
  readonly sora: number;
  /** Of the platform's one process, or of the gateway. */
  readonly admin: number;
}

interface Ports extends FixedPorts {
  /** By the instance's name. */
  grpc: Record<string, number>;
  serviceAdmin: Record<string, number>;
  /** For headsets, of the further instances of device-link. */
  deviceLinks: Record<string, number>;
}

/** Chosen once for a data folder: addresses stay the same over restarts. */
async function portsOf(options: StackOptions, instances: readonly Instance[]): Promise<Ports> {
  const file = join(options.dataDir, `ports-${options.kind}.json`);
  if (existsSync(file) && !options.ports) return JSON.parse(readFileSync(file, 'utf8')) as Ports;
  const [gateway = 0, issuer = 0, deviceLink = 0, files = 0, sora = 0, admin = 0, ...rest] = await freePorts(
    6 + 3 * instances.length,
  );
  const each = (of: readonly Instance[], turn: number) =>
    Object.fromEntries(of.map(({ name }, i) => [name, rest[turn * instances.length + i] ?? 0]));
  const furtherLinks = instances.filter(({ service, name }) => service === 'device-link' && name !== service);
  const ports: Ports = {
    ...(options.ports ?? { gateway, issuer, deviceLink, files, sora, admin }),
    grpc: each(instances, 0),
    serviceAdmin: each(instances, 1),
    deviceLinks: each(furtherLinks, 2),
  };
  writeFileSync(file, JSON.stringify(ports));
  return ports;
}

function secretOf(dataDir: string): string {
  const file = join(dataDir, 'secret.key');
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}
