import { randomBytes, randomInt } from 'node:crypto';
import { type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import { type FileStore, startFileStore } from '@headset-cloud/demo/integrator/file-store.ts';
import { type IntegratorServer, startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import {
  type Admin,
  createAdmin,
  provisionApplication,
  provisionDevice,
} from '@headset-cloud/demo/provision.ts';
import { SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import { type Storage, startStorage } from '@headset-cloud/demo/sora/storage.ts';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { type Stack, type StackKind, startStack } from '@headset-cloud/demo/stack/stack.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { ofEveryService } from '../e2e/instances.ts';
import { withoutLimits } from '../support/limits.ts';
import { Clocks } from './clocks.ts';
import type { Put } from './evidence.ts';
import { type HeadsetProcess, manageHeadsets } from './headsets.ts';
import { insideOf, type Mutation } from './inside/environment.ts';
import { FeedReader } from './load/feed-reader.ts';
import { IntegratorClient } from './load/integrator-client.ts';
import { LoadRecord } from './load/load-record.ts';
import { activate } from './load/loops.ts';
import { surroundings } from './load/operations.ts';
import { partBytes } from './load/sora-side.ts';
import { createNetwork, type Network } from './network/network.ts';
import { Supervisor } from './supervisor.ts';

const leaseMs = 2000;
/** Session timeout of Kafka's consumers; a shorter timeout would often expire on a busy machine. */
const sessionMs = 3000;
/** Freezes last longer than this. */
export const longestLeaseMs = Math.max(leaseMs, sessionMs);

/** Short leases and intervals, so that work is resumed within a round after a crash. */
const shortTimes = {
  // Detects silent connections soon.
  RPC_KEEPALIVE_MS: '2000',
  RPC_KEEPALIVE_TIMEOUT_MS: '4000',
  NOTIFIER_LEASE_MS: String(leaseMs),
  NOTIFIER_SWEEP_MS: '200',
  // Each callback holds a lease, and short leases need frequent renewals.
  NOTIFIER_ENDPOINT_WINDOW: '100',
  NOTIFIER_BACKOFF_FIRST_MS: '50',
  NOTIFIER_BACKOFF_MAX_MS: '1000',
  NOTIFIER_PROBE_MAX_MS: '500',
  NOTIFIER_UNSET_RETRY_MS: '200',
  NOTIFIER_TOTAL_TIMEOUT_MS: '3000',
  TRANSACTIONS_SWEEP_MS: '200',
  TRANSACTIONS_LEFTOVER_AFTER_MS: '1000',
  DEVICES_SWEEP_INTERVAL_MS: '200',
  DEVICES_COMPLETE_AFTER_MS: '1000',
  DEVICE_LINK_OFFER_DEADLINE_MS: '5000',
  DEVICE_LINK_LEASE_MS: String(leaseMs),
  // No transaction waits for a reconnect (rule B5), also within a short run.
  DEVICE_LINK_RECONCILE_INTERVAL_MS: '2000',
  KAFKA_SESSION_TIMEOUT_MS: String(sessionMs),
  COMMUNICATION_EVENT_CLAIM_MS: String(leaseMs),
  UPDATES_SWEEP_INTERVAL_MS: '200',
  UPDATES_CHECK_LEASE_MS: String(leaseMs),
  COMMUNICATION_RESERVATION_MS: '2000',
  COMMUNICATION_SWEEP_MS: '200',
  COMMUNICATION_LEFTOVER_AFTER_MS: '1000',
  COMMUNICATION_RECORDING_LEASE_MS: String(leaseMs),
  COMMUNICATION_PART_BYTES: String(partBytes),
  COMMUNICATION_BACKOFF_FIRST_MS: '50',
  COMMUNICATION_BACKOFF_MAX_MS: '1000',
  // An outage of the platform's own parts must not fail a recording. The integrator's server always answers.
  COMMUNICATION_SIGNED_URL_ATTEMPTS: '100',
};

/** An application, its integrator's client and server. */
export interface Tenant {
  readonly applicationId: string;
  readonly api: ApiClient;
  readonly client: IntegratorClient;
  readonly devices: readonly HeadsetKeyFile[];
  readonly feed: FeedReader;
  readonly loadRecord: LoadRecord;
}

/** The platform, its integrators and their headsets. */
export interface World {
  readonly stack: Stack;
  /** The lines between all programs, and the wall clocks of the platform's processes. */
  readonly network: Network;
  readonly clocks: Clocks;
  /** Applications whose server fails every callback now. */
  readonly failing: Set<string>;
  readonly supervisor: Supervisor;
  readonly tenants: readonly Tenant[];
  readonly integrator: IntegratorServer;
  /** The integrators' storage for files from headsets. */
  readonly files: FileStore;
  /** The integrators' storage for recordings. */
  readonly recordings: Storage;
  readonly recordingPuts: readonly Put[];
  readonly sora: SoraSimulator;
  readonly headsets: readonly HeadsetProcess[];
  /** Process of headsets whose apps send an answer to each command. */
  readonly answering: HeadsetProcess;
  /** A headset that is handed over between two customers. */
  readonly handed: HeadsetKeyFile;
  headsetsOf(deviceId: string): HeadsetProcess;
  /** Waits until every process is ready. Returns false after `timeoutMs`. */
  ready(timeoutMs: number): Promise<boolean>;
  /** Ends all faults of lines, clocks and integrators' servers, without a reconnect of headsets. */
  calm(): Promise<void>;
  stop(): Promise<void>;
}

/** Flags of headsets that load packages slowly enough to report progress. */
const installing = [
  '--behaviour',
  JSON.stringify({ downloadBytesPerSecond: 100_000, progressIntervalMs: 100, downloadRetryMs: 100 }),
];
const applications = 2;
const devicesEach = 6;

export async function startWorld(options: {
  kind: StackKind;
  dataDir: string;
  env?: Readonly<Record<string, string>>;
  /** Mutations of all processes, which remove safeguards. */
  mutations?: readonly Mutation[];
  /** Number of processes of each service and the gateway; real stack only. */
  instances: number;
  /** Duration of a transaction's work on a headset; milliseconds. */
  effectMs: number;
  /** Whether the integrator's server fails this callback. */
  failsCallback: () => boolean;
}): Promise<World> {
  const { dataDir } = options;
  const clients = Array.from({ length: applications }, (_, i) => ({
    clientId: `client-${i + 1}`,
    clientSecret: randomBytes(24).toString('hex'),
  }));
  const env = { ...withoutLimits, ...shortTimes, ...options.env };
  const network = createNetwork();
  const clocks = new Clocks(dataDir);
  const started = await startStack({
    ...{ kind: options.kind, dataDir, clients, env, gateways: options.instances },
    // An instance resumes the work of another instance that died.
    instances: ofEveryService(options.instances),
    async surround(plan) {
      const routes = await network.surround(plan);
      return Object.fromEntries(
        plan.processes.map((name) => [
          name,
          insideOf({
            routes: routes[name] ?? {},
            clockFile: clocks.fileOf(name),
            mutations: options.mutations ?? [],
          }),
        ]),
      );
    },
  });
  const stack: Stack = {
    ...started,
    apiUrl: `http://${await network.listener('integrators>gateway', started.gatewayAddresses)}`,
    soraWebhookUrl: `http://${await network.listener('sora>communication', started.soraWebhookAddresses)}`,
  };
  const failing = new Set<string>();
  let calm = false;
  const integrator = await startIntegrator({
    keep: Number.POSITIVE_INFINITY,
    answer: ({ body }) => {
      const fails = !calm && (failing.has(body?.applicationId) || options.failsCallback());
      return { status: fails ? 500 : 204 };
    },
  });
  const files = await startFileStore();
  const recordings = await startStorage();
  const recordingPuts: Put[] = [];
  const noted = new WeakMap<object, Put>();
  recordings.trouble = (request) => {
    const put: Put = { file: request.file, partNumber: request.partNumber, atMs: Date.now() };
    recordingPuts.push(put);
    noted.set(request, put);
    return undefined;
  };
  recordings.onCutOff = (request) => {
    const put = noted.get(request);
    if (put) put.cutOff = true;
  };
  const admin = createAdmin(stack.admin);
  const sora = await startSora(stack, admin);
  let order = 0;
  const handed = await provisionDevice(admin, drawImei());
  const tenants: Tenant[] = [];
  for (const credentials of clients) {
    const devices: HeadsetKeyFile[] = [];
    for (let i = 0; i < devicesEach; i++) {
      devices.push(await provisionDevice(admin, drawImei()));
    }
    const applicationId = await provisionApplication(admin, {
      developerId: `developer-${credentials.clientId}`,
      clientIds: [credentials.clientId],
      name: credentials.clientId,
      activationLimit: devicesEach + 1,
      deviceIds: [...devices, handed].map((d) => d.deviceId),
    });
    const { apiUrl, tokenUrl } = stack;
    const api = createApiClient({ apiUrl, tokenUrl, applicationId, ...credentials });
    const client = new IntegratorClient(applicationId, api, () => ++order, clocks);
    const settings = await api.app('PATCH', '', {
      deviceEvent: integrator.url,
      fileUploadEvent: integrator.url,
      fileUploadGetUrl: files.signUrl,
      soraEvent: integrator.url,
      soraFileSendEvent: integrator.url,
      soraRecGetMultiPresignedUrl: `${recordings.origin}/sign`,
    });
    const key = await api.app('POST', '/refresh_authkey');
    if (settings.status !== 200 || key.status !== 201) throw new Error('the application was not configured');
    integrator.keys.push(key.body.authenticationKey);
    files.keys.push(key.body.authenticationKey);
    recordings.keys.push(key.body.authenticationKey);
    const feed = new FeedReader(applicationId, api);
    tenants.push({ applicationId, api, client, devices, feed, loadRecord: new LoadRecord(Date.now()) });
  }
  const controlPorts = await freePorts(2);
  // Each headset process starts with a different instance, and uses the next after a lost connection.
  const listeners = await Promise.all(
    controlPorts.map((_, i) => {
      const urls = stack.deviceLinkUrls.map((_, j, all) => all[(i + j) % all.length] as string);
      return network.listener(`headsets-${i + 1}>device-link`, urls);
    }),
  );
  const headsets = controlPorts.map((controlPort, i) =>
    manageHeadsets({
      name: `headsets-${i + 1}`,
      dir: dataDir,
      server: listeners[i] as string,
      controlPort,
      devices: [
        ...tenants.flatMap((t) => t.devices.filter((_, d) => d % 2 === i)),
        ...(i === 0 ? [handed] : []),
      ],
      content: surroundings,
      flags: [
        ...installing,
        ...(i === 0 ? ['--effect-ms', String(options.effectMs)] : ['--app-answer', 'did it']),
      ],
    }),
  );
  for (const { process } of headsets) process.start();
  const supervisor = new Supervisor([
    ...Object.values(stack.processes),
    ...headsets.map(({ process }) => process),
  ]);
  const world: World = {
    stack,
    ...{ network, clocks, failing },
    supervisor,
    tenants,
    integrator,
    ...{ files, recordings, recordingPuts, sora },
    headsets,
    answering: headsets[1] as HeadsetProcess,
    handed,
    headsetsOf(deviceId) {
      const found = headsets.find((h) => h.devices.some((d) => d.deviceId === deviceId));
      if (!found) throw new Error(`no headset ${deviceId}`);
      return found;
    },
    async ready(timeoutMs) {
      try {
        await waitFor('the platform to be ready', () => allReady(stack), { timeoutMs, intervalMs: 50 });
        return true;
      } catch {
        return false;
      }
    },
    async calm() {
      calm = true;
      failing.clear();
      network.heal();
      clocks.heal();
    },
    async stop() {
      supervisor.stop();
      await Promise.all(headsets.map(({ process }) => process.kill()));
      await stack.stop();
      await network.close();
      await Promise.all(tenants.map((t) => t.api.close()));
      await integrator.close();
      await Promise.all([files.close(), recordings.close(), sora.close()]);
    },
  };
  const activations = await Promise.all(
    tenants.flatMap((t) => t.devices.map((d) => activate(t.client, d.deviceId, 0))),
  );
  // A headset can report to an application only after it knows its activation.
  await waitFor('the activations', () => activations.every((a) => hasEnded(integrator, a.transactionId)), {
    timeoutMs: 60_000,
    intervalMs: 50,
  });
  return world;
}

function drawImei(): string {
  return `35${String(randomInt(10 ** 12)).padStart(13, '0')}`;
}

/** Starts a simulated Sora and registers it with the platform. This process sends its webhooks. */
async function startSora(stack: Stack, admin: Admin): Promise<SoraSimulator> {
  const secret = randomBytes(24).toString('base64url');
  const endpointId = 'sora-1';
  const sora = new SoraSimulator({ endpointId, secret, webhookUrl: stack.soraWebhookUrl });
  await sora.start();
  const soraVersion = '2024.1.0';
  await admin.communication.putEndpoint({
    endpoint: {
      ...{ endpointId, soraVersion, signalingUrl: 'wss://sora.example.com/signaling' },
      ...{ webhookSecret: secret, connectionLimit: 10_000, archiveUrl: sora.archiveUrl },
    },
  });
  await admin.communication.setDefaultVersion({ soraVersion });
  return sora;
}

function hasEnded({ received }: IntegratorServer, transactionId: number | undefined): boolean {
  return received.some(
    ({ body }) => body.transactionId === transactionId && body.notificationType === 'processed',
  );
}

async function allReady(stack: Stack): Promise<boolean> {
  const answers = Object.values(stack.adminUrls).map(async (url) => {
    try {
      const answer = await request(`${url}/readyz`, { headersTimeout: 2000 });
      await answer.body.dump();
      return answer.statusCode === 200;
    } catch {
      return false;
    }
  });
  return (await Promise.all(answers)).every(Boolean);
}
