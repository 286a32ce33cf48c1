import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeSecretFile } from '@headset-cloud/cli/secret-file.ts';
import { ownSecretKey } from '@headset-cloud/process/own-secret-key.ts';
import { type ServiceName, serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import type { AdminAddresses } from '../provision.ts';
import { type Backing, startBacking } from './backing.ts';
import { makeCertificates, makeHeadsetListener } from './certificates.ts';
import {
  grpcAddresses,
  type Instance,
  type InstanceCounts,
  instancesOf,
  oneProcessWanted,
} from './instances.ts';
import { defaultSettings, ownSettings } from './own-settings.ts';
import { freePorts } from './ports.ts';
import { type ManagedProcess, manageProcess, root } from './process.ts';

export type StackKind = 'embedded' | 'real';

/** A client of the issuer. The issuer simulates the customer's identity provider. */
export interface IssuerClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A running platform. */
export interface Stack {
  readonly kind: StackKind;
  readonly dataDir: string;
  readonly apiUrl: string;
  readonly issuerUrl: string;
  readonly tokenUrl: string;
  /** host:port for headsets. */
  readonly deviceLinkUrl: string;
  /** host:port for headsets, of every instance. */
  readonly deviceLinkUrls: readonly string[];
  /** File with the authority of device-link's certificate; undefined without TLS. */
  readonly headsetCaFile: string | undefined;
  /** Origin of the server for Sora's webhooks. */
  readonly soraWebhookUrl: string;
  /** host:port for Sora's webhooks, of every instance. */
  readonly soraWebhookAddresses: readonly string[];
  /** host:port of the API, of every gateway. */
  readonly gatewayAddresses: readonly string[];
  readonly admin: AdminAddresses;
  /** Admin ports of all processes, for health and metrics. */
  readonly adminUrls: Readonly<Record<string, string>>;
  readonly clients: readonly IssuerClient[];
  /** True: each process runs all services, and the processes are named 'platform', 'platform-2' and so on. */
  readonly oneProcess: boolean;
  /** The platform's processes by name. */
  readonly processes: Readonly<Record<string, ManagedProcess>>;
  /** Origin of packages and firmware if they are not stored in S3. */
  readonly filesUrl: string;
  /** MongoDB, Kafka and S3 of the real stack. */
  readonly backing: Backing | undefined;
  /** Resolves when these processes are ready. Default: all processes that the stack starts. */
  ready(timeoutMs?: number, names?: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export interface StackOptions {
  readonly kind: StackKind;
  /** Folder of all data. A later start in the same folder continues with this data. */
  readonly dataDir: string;
  /** Clients of the issuer. */
  readonly clients: readonly IssuerClient[];
  /** Services of the real stack that run with several instances. */
  readonly instances?: InstanceCounts;
  /**
   * True: on the real stack, each process runs all services, and there are `gateways` processes. Default: the
   * variable PROCESSES.
   */
  readonly oneProcess?: boolean;
  /** MongoDB, Kafka and S3 of the real stack, from `shareBacking`. Default: the stack starts servers. */
  readonly backing?: Backing | undefined;
  /** True: headsets connect with TLS. The authority is created at this start. */
  readonly headsetTls?: boolean;
  /** Added to the environment of every process. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Maps a service's address to the one that the gateway of the real stack uses, so that a test can put a
   * proxy in between.
   */
  readonly gatewayReaches?: (service: ServiceName, address: string) => string;
  /** Number of instances of the gateway on the real stack; default 1. */
  readonly gateways?: number;
  /** Called before anything starts; returns additions to the environment of each process, by name. */
  readonly surround?: (
    plan: StackPlan,
  ) => Promise<Readonly<Record<string, Readonly<Record<string, string>>>>>;
  /** Called at each start of a process. Returns the root of its sources; undefined: the project's sources. */
  readonly sourcesOf?: (name: string) => string | undefined;
  /** Names of processes of the real stack that the stack does not start: the test starts them later. */
  readonly later?: readonly string[];
  /** Fixed ports. Default: free ports, which stay the same over restarts. */
  readonly ports?: FixedPorts;
}

/** The planned processes and addresses, for a test that puts proxies in between. */
export interface StackPlan {
  /** The platform's processes, by name. */
  readonly processes: readonly string[];
  /** host:port of all servers that the processes connect to, by name: the processes, mongo and kafka. */
  readonly addresses: Readonly<Record<string, string>>;
}

const servicesWithS3: readonly ServiceName[] = ['updates'];
/** Services with a listener for external clients. */
const externalServices: readonly ServiceName[] = ['device-link', 'communication', 'updates'];

/** Starts the platform on either stack and waits until it is ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { kind, dataDir } = options;
  mkdirSync(dataDir, { recursive: true });
  const oneProcess = kind === 'embedded' || (options.oneProcess ?? oneProcessWanted());
  const gateways = gatewaysOf(options.gateways);
  const every = Object.fromEntries(serviceNames.map((service) => [service, gateways.length]));
  const instances = instancesOf(oneProcess ? every : options.instances);
  const ports = await portsOf(options, instances, gateways);
  const clientsFile = join(dataDir, 'issuer-clients.json');
  writeSecretFile(clientsFile, JSON.stringify(options.clients, null, 2));
  const issuerUrl = `http://127.0.0.1:${ports.issuer}`;
  const logFile = (name: string) => join(dataDir, 'logs', `${name}.log`);
  const headsetListener = options.headsetTls
    ? await makeHeadsetListener(join(dataDir, 'headset-tls'))
    : undefined;
  const common: Record<string, string> = {
    ...headsetListener?.env,
    ...defaultSettings,
    SECRET_KEY: ownSecretKey(dataDir),
    DATA_DIR: dataDir,
    GATEWAY_LISTEN: `127.0.0.1:${ports.gateway}`,
    DEVICE_LINK_LISTEN: `127.0.0.1:${ports.deviceLink}`,
    COMMUNICATION_LISTEN: `127.0.0.1:${ports.sora}`,
    UPDATES_LISTEN: `127.0.0.1:${ports.files}`,
    ISSUER_LISTEN: `127.0.0.1:${ports.issuer}`,
    ISSUER_CLIENTS_FILE: clientsFile,
    OIDC_ISSUER: issuerUrl,
    OIDC_AUDIENCE: 'urn:headset-cloud:api',
    ...options.env,
  };
  const backing =
    kind === 'real' ? (options.backing ?? (await startBacking(join(dataDir, 'backing')))) : undefined;
  const platforms = gateways.map((name) => name.replace('gateway', 'platform'));
  const surroundings = await options.surround?.(
    planOf(backing, oneProcess ? platforms : [...instances.map(({ name }) => name), ...gateways], ports),
  );
  const isLater = (name: string) => options.later?.includes(name) ?? false;
  const sourcesOf = (name: string) => () => options.sourcesOf?.(name) ?? root;
  const processes: Record<string, ManagedProcess> = {};
  const adminUrls: Record<string, string> = {};
  const add = (name: string, entry: string, admin: number | undefined, env: Record<string, string>) => {
    requireNamed(env, options.env);
    if (admin !== undefined) adminUrls[name] = `http://127.0.0.1:${admin}`;
    processes[name] = manageProcess({
      ...{ name, entry, logFile: logFile(name) },
      ...(admin !== undefined && { sources: sourcesOf(name) }),
      env: { ...env, ADMIN_LISTEN: `127.0.0.1:${admin ?? 0}`, ...surroundings?.[name] },
    });
  };
  const local = (port: number | undefined) => `127.0.0.1:${port}`;
  const peersOf = (names: readonly string[]) => names.map((name) => local(ports.grpc[name])).join(',');

  if (!backing) add('platform', 'services/standalone/src/main.ts', ports.admin, common);
  else {
    const stores = {
      ...common,
      MONGODB_URI: backing.mongodbUri,
      KAFKA_BROKERS: backing.kafkaBrokers,
      ...(backing.databasePrefix && { MONGODB_DATABASE_PREFIX: backing.databasePrefix }),
      ...(backing.kafkaPrefix && { KAFKA_PREFIX: backing.kafkaPrefix }),
      KAFKA_REPLICATION_FACTOR: '1',
    };
    const identities = [...serviceNames, 'gateway'] as const;
    const certificates = await makeCertificates(join(dataDir, 'tls'), [
      ...identities.map((one) => [one]),
      ['device-link', 'gateway'],
    ]);
    add('issuer', 'services/standalone/src/issuer-main.ts', undefined, stores);
    if (oneProcess) {
      for (const [i, name] of platforms.entries()) {
        const gateway = gateways[i] ?? '';
        add(name, 'services/standalone/src/main.ts', ports.serviceAdmin[gateway] ?? ports.admin, {
          // Before the other settings, so that a test can choose another mode.
          ...certificates('device-link', 'gateway'),
          ...stores,
          ...backing.s3Environment,
          ...furtherListeners(i + 1, ports),
          ...(gateway in ports.listeners && { GATEWAY_LISTEN: local(ports.listeners[gateway]) }),
          GRPC_LISTEN: local(ports.grpc[gateway]),
          ADVERTISE_ADDRESS: local(ports.grpc[gateway]),
          ...(gateways.length > 1 && { GATEWAY_PEERS: peersOf(gateways) }),
        });
      }
    } else {
      const shared = { ...stores, ...grpcAddresses(instances, ports.grpc) };
      for (const { service, name } of instances) {
        add(name, `services/${service}/src/main.ts`, ports.serviceAdmin[name], {
          ...certificates(service),
          ...shared,
          ...(servicesWithS3.includes(service) && backing.s3Environment),
          ...(name in ports.listeners && listenersOf(service, local(ports.listeners[name]))),
          GRPC_LISTEN: local(ports.grpc[name]),
          ADVERTISE_ADDRESS: local(ports.grpc[name]),
        });
      }
      for (const name of gateways) {
        add(name, 'gateway/src/main.ts', ports.serviceAdmin[name] ?? ports.admin, {
          ...certificates('gateway'),
          ...shared,
          ...(options.gatewayReaches && reachedThrough(options.gatewayReaches, instances, ports.grpc)),
          ...(name in ports.listeners && { GATEWAY_LISTEN: local(ports.listeners[name]) }),
          ...(gateways.length > 1 && {
            GRPC_LISTEN: local(ports.grpc[name]),
            GATEWAY_PEERS: peersOf(gateways),
          }),
        });
      }
    }
  }

  const adminOf = (service: ServiceName) => adminUrls[service] ?? adminUrls['platform'] ?? '';
  const stack: Stack = {
    kind,
    dataDir,
    oneProcess,
    apiUrl: `http://127.0.0.1:${ports.gateway}`,
    issuerUrl,
    tokenUrl: `${issuerUrl}/token`,
    // grpc-js needs a host name to verify a certificate.
    deviceLinkUrl: `${headsetListener ? 'localhost' : '127.0.0.1'}:${ports.deviceLink}`,
    deviceLinkUrls: listenerAddresses(ports.deviceLink, 'device-link', ports),
    headsetCaFile: headsetListener?.caFile,
    soraWebhookUrl: `http://127.0.0.1:${ports.sora}`,
    soraWebhookAddresses: listenerAddresses(ports.sora, 'communication', ports),
    gatewayAddresses: listenerAddresses(ports.gateway, 'gateway', ports),
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
    async ready(timeoutMs = 120_000, only?: readonly string[]) {
      for (const name of only ?? Object.keys(adminUrls).filter((one) => !isLater(one))) {
        const url = adminUrls[name] ?? '';
        await waitFor(
          `${name} to be ready`,
          async () => {
            if (!processes[name]?.running)
              throw new Error(`${name} ended:\n${processes[name]?.log().slice(-2000)}`);
            return answers(`${url}/readyz`);
          },
          { timeoutMs, intervalMs: 20 },
        );
      }
      // The issuer is a separate process without an admin port.
      if (only || !processes['issuer']) return;
      const configuration = `${issuerUrl}/.well-known/openid-configuration`;
      await waitFor('the issuer to answer', () => answers(configuration), { timeoutMs, intervalMs: 20 });
    },
    async stop() {
      // The gateway stops first, so that the services behind it can finish open calls.
      for (const name of Object.keys(processes).reverse()) await processes[name]?.stop();
      await backing?.stop();
    },
  };
  for (const p of Object.values(processes)) if (!isLater(p.name)) p.start();
  try {
    await stack.ready();
  } catch (error) {
    await stack.stop();
    throw error;
  }
  return stack;
}

/** Throws if a setting is missing in own-settings.ts. `make up` rejects the listed settings in the user's file. */
function requireNamed(env: Readonly<Record<string, string>>, given: StackOptions['env'] = {}): void {
  const named = (key: string) => key in defaultSettings || key in given || ownSettings.has(key);
  const unnamed = Object.keys(env).filter((key) => !named(key));
  if (unnamed.length > 0) throw new Error(`own-settings.ts does not name ${unnamed.join(', ')}`);
}

/** Names of the gateways: gateway, gateway-2 and so on. */
function gatewaysOf(count = 1): string[] {
  return Array.from({ length: count }, (_, i) => (i === 0 ? 'gateway' : `gateway-${i + 1}`));
}

function planOf(backing: Backing | undefined, names: readonly string[], ports: Ports): StackPlan {
  if (!backing) return { processes: names, addresses: {} };
  // A process that runs all services uses its gateway's port.
  const grpcOf = (name: string) => ports.grpc[name.replace('platform', 'gateway')];
  return {
    processes: names,
    addresses: {
      ...Object.fromEntries(
        names
          .filter((name) => !name.startsWith('gateway'))
          .map((name) => [name, `127.0.0.1:${grpcOf(name)}`]),
      ),
      mongo: new URL(backing.mongodbUri).host,
      ...Object.fromEntries(
        backing.kafkaBrokers.split(',').map((address, i) => [i === 0 ? 'kafka' : `kafka-${i + 1}`, address]),
      ),
    },
  };
}

/** Listen addresses of the n-th process that runs all services. The first one has the fixed ports. */
function furtherListeners(n: number, { listeners }: Ports): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const service of externalServices) {
    const port = listeners[`${service}-${n}`];
    if (port) Object.assign(settings, listenersOf(service, `127.0.0.1:${port}`));
  }
  return settings;
}

/** Listen addresses of an additional instance for external clients. */
function listenersOf(service: ServiceName, address: string): Record<string, string> {
  if (service === 'device-link') return { DEVICE_LINK_LISTEN: address };
  if (service === 'communication') return { COMMUNICATION_LISTEN: address };
  if (service === 'updates') return { UPDATES_LISTEN: address };
  return {};
}

function listenerAddresses(first: number, name: string, { listeners }: Ports): string[] {
  const further = Object.keys(listeners).filter((listener) => listener.replace(/-\d+$/, '') === name);
  return [first, ...further.map((listener) => listeners[listener])].map((port) => `127.0.0.1:${port}`);
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

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await request(url);
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
  /** Admin port of the single process, or of the gateway. */
  readonly admin: number;
}

interface Ports extends FixedPorts {
  /** gRPC ports by instance name. */
  grpc: Record<string, number>;
  serviceAdmin: Record<string, number>;
  /** Ports for external clients of additional instances and gateways. */
  listeners: Record<string, number>;
}

/** Chooses the ports of a data folder once, so that addresses stay the same over restarts. */
async function portsOf(
  options: StackOptions,
  instances: readonly Instance[],
  gateways: readonly string[],
): Promise<Ports> {
  const file = join(options.dataDir, `ports-${options.kind}.json`);
  if (existsSync(file) && !options.ports) return JSON.parse(readFileSync(file, 'utf8')) as Ports;
  const names = instances.map(({ name }) => name);
  const furtherGateways = gateways.slice(1);
  const admins = [...names, ...furtherGateways];
  const further = [...instances.filter((i) => i.name !== i.service).map((i) => i.name), ...furtherGateways];
  const [gateway = 0, issuer = 0, deviceLink = 0, files = 0, sora = 0, admin = 0, ...rest] = await freePorts(
    6 + names.length + gateways.length + admins.length + further.length,
  );
  const each = (of: readonly string[]) => Object.fromEntries(of.map((name) => [name, rest.shift() ?? 0]));
  const ports: Ports = {
    ...(options.ports ?? { gateway, issuer, deviceLink, files, sora, admin }),
    grpc: each([...names, ...gateways]),
    serviceAdmin: each(admins),
    listeners: each(further),
  };
  writeFileSync(file, JSON.stringify(ports));
  return ports;
}
