import { createPublicKey, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiAnswer, type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { type IntegratorServer, startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import {
  type Admin,
  createAdmin,
  provisionApplication,
  provisionDevice,
} from '@headset-cloud/demo/provision.ts';
import { type Stack, startStack } from '@headset-cloud/demo/stack/stack.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { imei, ownBacking, stack as suiteStack } from '../harness.ts';
import { type Backups, createBackups } from './backups.ts';

/** An integrator with one application. */
export interface Integrator {
  readonly applicationId: string;
  readonly server: IntegratorServer;
  /** Makes a call and returns the answer's body; throws for a status other than 200 and 201. */
  call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
  status(method: string, path: string, body?: unknown): Promise<number>;
  /** Creates a transaction; stores its id in `given`. */
  make(method: string, path: string, body?: unknown): Promise<number>;
  command(device: HeadsetKeyFile): Promise<number>;
  activate(device: HeadsetKeyFile): Promise<number>;
  state(transactionId: number): Promise<unknown>;
  /** Resolves with the body of the callback that ends the transaction. */
  ended(transactionId: number): Promise<Record<string, unknown>>;
  /** The texts that apps on headsets sent to the application. */
  customData(): string[];
}

/** A separate platform with two integrators. Their headsets remember the effects of commands. */
export interface Drill {
  readonly stack: Stack;
  readonly admin: Admin;
  readonly backups: Backups;
  readonly first: Integrator;
  readonly second: Integrator;
  readonly devices: readonly HeadsetKeyFile[];
  /** Transaction ids in the order in which they were issued. */
  readonly given: number[];
  /** The connected headset of a device, with its state at its last close. */
  connect(device: HeadsetKeyFile): Promise<Headset>;
  /** The highest session epoch that the headset of a device received. */
  sessionsOf(device: HeadsetKeyFile): number;
  close(): Promise<void>;
}

export async function startDrill(): Promise<Drill> {
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-restore-'));
  const clients = ['first', 'second'].map((clientId) => ({
    clientId,
    clientSecret: randomBytes(24).toString('hex'),
  }));
  const stack = await startStack({
    ...{ kind: suiteStack.kind, dataDir: folder, clients },
    backing: await ownBacking(),
    env: { NOTIFIER_BACKOFF_FIRST_MS: '50', NOTIFIER_LEASE_MS: '2000', DEVICE_LINK_LEASE_MS: '2000' },
  });
  const admin = createAdmin(stack.admin);
  const backups = createBackups(stack);
  const devices: HeadsetKeyFile[] = [];
  for (let i = 0; i < 3; i++) devices.push(await provisionDevice(admin, imei()));
  const given: number[] = [];
  const apis: ApiClient[] = [];
  const servers: IntegratorServer[] = [];
  const headsets = new Set<Headset>();
  const sessions = new Map<string, number>();

  const integrator = async (client: (typeof clients)[number]): Promise<Integrator> => {
    const applicationId = await provisionApplication(admin, {
      ...{ developerId: client.clientId, clientIds: [client.clientId], name: client.clientId },
      ...{ activationLimit: 10, deviceIds: devices.map(({ deviceId }) => deviceId) },
    });
    const { apiUrl, tokenUrl } = stack;
    const api = createApiClient({ apiUrl, tokenUrl, applicationId, ...client });
    const server = await startIntegrator();
    apis.push(api);
    servers.push(server);
    /** As integrators do: a call that got 503 is made again, with its key. */
    const repeated = (method: string, path: string, body?: unknown): Promise<ApiAnswer> => {
      const headers = { 'Idempotency-Key': randomUUID() };
      return waitFor(
        `an answer to ${method} ${path}`,
        async () => {
          const answer = await api.app(method, path, body, headers);
          return answer.status !== 503 && answer;
        },
        { timeoutMs: 30_000, intervalMs: 200 },
      );
    };
    const own: Integrator = {
      ...{ applicationId, server },
      async call(method, path, body) {
        const answer = await repeated(method, path, body);
        if (answer.status >= 300) {
          throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
        }
        return answer.body;
      },
      status: async (method, path, body) => (await repeated(method, path, body)).status,
      async make(method, path, body) {
        const id = (await own.call(method, path, body))['transactionId'] as number;
        given.push(id);
        return id;
      },
      command: ({ deviceId }) =>
        own.make('PUT', `/devices/${deviceId}/commands`, {
          package: 'com.example.app',
          launchType: 'activity',
        }),
      activate: ({ deviceId }) =>
        own.make('POST', `/devices/${deviceId}`, { clientId: `app-${randomBytes(6).toString('hex')}` }),
      state: async (id) => (await own.call('GET', `/transactions/${id}`))['transactionStatus'],
      async ended(id) {
        const isEnd = ({ body }: IntegratorServer['received'][number]) =>
          body.transactionId === id && body.notificationType === 'processed';
        const end = await waitFor(`the end of ${id}`, () => server.received.find(isEnd), {
          timeoutMs: 30_000,
        });
        return end.body;
      },
      customData: () =>
        server.received.flatMap(({ body }) => (body.customData === undefined ? [] : [body.customData])),
    };
    await own.call('PATCH', '', { deviceEvent: server.url });
    server.keys.push((await own.call('POST', '/refresh_authkey'))['authenticationKey'] as string);
    return own;
  };
  const [one, other] = clients as [(typeof clients)[number], (typeof clients)[number]];
  return {
    ...{ stack, admin, backups, devices, given },
    first: await integrator(one),
    second: await integrator(other),
    async connect(identity) {
      const { deviceId } = identity;
      const headset = new Headset({
        ...{ identity, server: stack.deviceLinkUrl, stateDir: folder },
        backoff: { firstMs: 50, maxMs: 500 },
      });
      headsets.add(headset);
      headset.on('online', (epoch) => sessions.set(deviceId, Math.max(epoch, sessions.get(deviceId) ?? 0)));
      headset.connect();
      await waitFor('the session', () => headset.sessionEpoch > 0);
      return headset;
    },
    sessionsOf: ({ deviceId }) => sessions.get(deviceId) ?? 0,
    async close() {
      await Promise.all([...headsets].map((headset) => headset.close()));
      await Promise.all(apis.map((api) => api.close()));
      await backups.close();
      await stack.stop();
      await Promise.all(servers.map((server) => server.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Registers a headset that has its key already, as operators do who register it again. */
export async function registerAgain(
  { admin, first }: Drill,
  { deviceId, privateKeyPem }: HeadsetKeyFile,
): Promise<void> {
  await admin.devices.putDevice({ deviceId });
  const publicKeyPem = createPublicKey(privateKeyPem).export({ type: 'spki', format: 'pem' }).toString();
  await admin.devices.addHeadsetKey({ deviceId, publicKeyPem });
  const { applicationId } = first;
  await admin.devices.putContract({ applicationId, activationLimit: 10, addDeviceIds: [deviceId] });
}
