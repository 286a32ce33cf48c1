import { randomBytes, randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import {
  type Admin,
  createAdmin,
  provisionApplication,
  provisionDevice,
} from '@headset-cloud/demo/provision.ts';
import {
  type IssuerClient,
  type Stack,
  type StackKind,
  startStack,
} from '@headset-cloud/demo/stack/stack.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { insideOf, type Mutation } from '../../faults/inside/environment.ts';
import { withoutLimits } from '../../support/limits.ts';
import { type Sink, startSink } from './sink.ts';

/** An integrator's application with activated devices. */
export interface Tenant {
  readonly client: IssuerClient;
  readonly applicationId: string;
  readonly api: ApiClient;
  readonly devices: readonly HeadsetKeyFile[];
}

/** An endpoint that sends Sora's webhooks, with a channel of one application. */
export interface SoraEndpoint {
  readonly endpointId: string;
  readonly secret: string;
  readonly version: string;
  readonly channelId: string;
}

/** A running platform with three applications. */
export interface World {
  readonly stack: Stack;
  readonly admin: Admin;
  readonly sink: Sink;
  /** The application that must not change. */
  readonly watched: Tenant;
  readonly watchedSora: SoraEndpoint;
  /** The application that valid input may change. `spares` assigns its devices. */
  readonly spare: Tenant;
  readonly spareSora: SoraEndpoint;
  /** The spare client's second application. It has no devices, so its endpoints are never called. */
  readonly settingsOnly: string;
  /** Folder of the processes' memory figures (inside.ts). */
  readonly heldFolder: string;
  stop(): Promise<void>;
}

/** Indexes of the spare application's devices by listener. */
export const spares = { json: 0, urls: 1, messages: [2, 3, 4, 5], bytes: [6, 7, 8, 9] } as const;
const spareDevices = 10;
export const watchedPath = '/watched';

/** Starts the platform. `mutations` remove safeguards; `quietMs`: see inside.ts. */
export async function startWorld(
  kind: StackKind,
  mutations: readonly Mutation[] = [],
  quietMs = 2000,
): Promise<World> {
  const dataDir = mkdtempSync(join(tmpdir(), `headset-cloud-fuzz-${kind}-`));
  const heldFolder = join(dataDir, 'held');
  mkdirSync(heldFolder);
  const clients = ['watched', 'spare'].map((clientId) => ({
    clientId,
    clientSecret: randomBytes(24).toString('hex'),
  })) as [IssuerClient, IssuerClient];
  const open: { close(): Promise<unknown> }[] = [];
  let stack: Stack | undefined;
  const stop = async () => {
    await Promise.all(open.map((one) => one.close()));
    await stack?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const inside = pathToFileURL(join(import.meta.dirname, 'inside.ts')).href;
    const mutationEnv = mutations.length > 0 ? insideOf({ mutations }) : {};
    const preloads = [`--import=${inside}`, mutationEnv['NODE_OPTIONS']].filter(Boolean).join(' ');
    const { LIMIT_DEVICE_UNPROCESSED: _, ...limits } = withoutLimits;
    stack = await startStack({
      ...{ kind, dataDir, clients },
      env: {
        ...{ ...limits, ...mutationEnv, NODE_OPTIONS: preloads, FUZZ_HELD: heldFolder },
        FUZZ_QUIET_MS: String(quietMs),
        // The watched channel must keep its reservation during the longest run.
        COMMUNICATION_RESERVATION_MS: '86400000',
      },
    });
    const admin = createAdmin(stack.admin);
    const sink = await startSink([watchedPath]);
    open.push(sink);
    const watchedEndpoint = await addEndpoint(admin, '2024.2.0');
    const spareEndpoint = await addEndpoint(admin, '2025.1.0');
    await admin.communication.setDefaultVersion({ soraVersion: spareEndpoint.version });
    const tenant = async (client: IssuerClient, devices: number) => {
      const made = await openTenant(stack as Stack, admin, sink, client, devices);
      open.push(made.api);
      return made;
    };
    const watched = await tenant(clients[0], 1);
    const spare = await tenant(clients[1], spareDevices);
    const settingsOnly = await provisionApplication(admin, {
      ...{ developerId: 'spare', clientIds: ['spare'], name: 'settings only' },
      ...{ activationLimit: 1, deviceIds: [] },
    });
    const channelOf = async ({ api }: Tenant, soraVersion: string) =>
      (await expected(api, 201, 'POST', '/channels', { soraVersion })).channelId as string;
    return {
      ...{ stack, admin, sink, watched, spare, settingsOnly, heldFolder, stop },
      watchedSora: { ...watchedEndpoint, channelId: await channelOf(watched, watchedEndpoint.version) },
      spareSora: { ...spareEndpoint, channelId: await channelOf(spare, spareEndpoint.version) },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function addEndpoint(admin: Admin, version: string): Promise<Omit<SoraEndpoint, 'channelId'>> {
  const endpointId = `sora-${version}`;
  const secret = randomBytes(24).toString('base64url');
  await admin.communication.putEndpoint({
    endpoint: {
      ...{ endpointId, signalingUrl: `wss://${endpointId}.test/signaling`, soraVersion: version },
      ...{ connectionLimit: 50_000, webhookSecret: secret },
    },
  });
  return { endpointId, secret, version };
}

async function openTenant(
  stack: Stack,
  admin: Admin,
  sink: Sink,
  client: IssuerClient,
  count: number,
): Promise<Tenant> {
  const devices: HeadsetKeyFile[] = [];
  for (let i = 0; i < count; i += 1) {
    devices.push(await provisionDevice(admin, `35${String(randomInt(10 ** 12)).padStart(13, '0')}`));
  }
  const applicationId = await provisionApplication(admin, {
    ...{ developerId: client.clientId, clientIds: [client.clientId], name: client.clientId },
    ...{ activationLimit: 100, deviceIds: devices.map(({ deviceId }) => deviceId) },
  });
  const { apiUrl, tokenUrl } = stack;
  const api = createApiClient({ apiUrl, tokenUrl, ...client, applicationId });
  const url = `${sink.origin}/${client.clientId}`;
  await expected(api, 200, 'PATCH', '', { deviceEvent: url, soraEvent: url, fileUploadEvent: url });
  await expected(api, 201, 'POST', '/refresh_authkey');
  for (const { deviceId } of devices) {
    await expected(api, 201, 'POST', `/devices/${deviceId}`, { clientId: `of-${deviceId}` });
  }
  await expected(api, 201, 'PUT', `/devices/${devices[0]?.deviceId}/commands`, {
    ...{ package: 'com.example.app', launchType: 'activity' },
  });
  return { client, applicationId, api, devices };
}

/** Makes a call and throws unless it has this status. Returns the body. */
export async function expected(api: ApiClient, status: number, method: string, path: string, body?: unknown) {
  const answer = await api.app(method, path, body);
  if (answer.status === status) return answer.body;
  throw new Error(
    `${method} ${path}: ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)} ${answer.headers['x-error-detail'] ?? ''}`,
  );
}
