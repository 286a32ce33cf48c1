import { randomInt } from 'node:crypto';
import { type ApiAnswer, type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import { type FileStore, startFileStore } from '@headset-cloud/demo/integrator/file-store.ts';
import { type IntegratorServer, startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import { provisionApplication, provisionDevice } from '@headset-cloud/demo/provision.ts';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type HeadsetProcess, manageHeadsets } from '../../faults/headsets.ts';
import { FeedReader } from '../../faults/load/feed-reader.ts';
import { IntegratorClient } from '../../faults/load/integrator-client.ts';
import { LoadRecord } from '../../faults/load/load-record.ts';
import { activate } from '../../faults/load/loops.ts';
import { surroundings } from '../../faults/load/operations.ts';
import type { Tenant } from '../../faults/world.ts';
import type { Listeners } from './platform.ts';

/** One attempt of a call that changes something. */
export interface Attempt {
  /** The call's Idempotency-Key. */
  readonly key: string;
  /** When it was sent and when it ended; milliseconds since 1970. */
  readonly fromMs: number;
  readonly toMs: number;
  /** 0: there was no response. */
  readonly status: number;
}

/** Two integrators with their servers and their headsets, outside the cluster. */
export interface Integrators {
  readonly tenants: readonly Tenant[];
  readonly headsets: readonly HeadsetProcess[];
  readonly integrator: IntegratorServer;
  readonly files: FileStore;
  readonly attempts: readonly Attempt[];
  headsetsOf(deviceId: string): HeadsetProcess;
  stop(): Promise<void>;
}

const applications = 2;
const devicesEach = 25;
const headsetFlags = [
  '--behaviour',
  JSON.stringify({ downloadBytesPerSecond: 100_000, progressIntervalMs: 100, downloadRetryMs: 100 }),
];

export async function startIntegrators(options: {
  readonly listeners: Listeners;
  /** This machine's address for callbacks and files. */
  readonly host: string;
  readonly dataDir: string;
}): Promise<Integrators> {
  const { listeners, host, dataDir } = options;
  const { admin, client: credentials } = listeners;
  const [integrator, files] = await Promise.all([
    startIntegrator({ host, keep: Number.POSITIVE_INFINITY }),
    startFileStore(host),
  ]);
  const attempts: Attempt[] = [];
  const tenants: Tenant[] = [];
  let order = 0;
  for (let i = 0; i < applications; i++) {
    const devices: HeadsetKeyFile[] = [];
    for (let d = 0; d < devicesEach; d++) devices.push(await provisionDevice(admin, drawImei()));
    const applicationId = await provisionApplication(admin, {
      developerId: 'integrator',
      clientIds: [credentials.clientId],
      name: `application ${i + 1}`,
      activationLimit: devicesEach,
      deviceIds: devices.map(({ deviceId }) => deviceId),
    });
    const { apiUrl, tokenUrl } = listeners;
    const api = createApiClient({ apiUrl, tokenUrl, applicationId, ...credentials });
    const deviceEvent = integrator.url;
    const settings = { deviceEvent, fileUploadEvent: integrator.url, fileUploadGetUrl: files.signUrl };
    const set = await api.app('PATCH', '', settings);
    const key = await api.app('POST', '/refresh_authkey');
    if (set.status !== 200 || key.status !== 201) throw new Error('the application was not configured');
    integrator.keys.push(key.body.authenticationKey);
    files.keys.push(key.body.authenticationKey);
    const client = new IntegratorClient(
      applicationId,
      noting(api, attempts),
      () => ++order,
      { anyOff: false, anyWasOff: false },
      // Follows the guide for integrators. Abandoned attempts that continue would fill the client's connections.
      { patienceMs: 8000, honorsRetryAfter: true },
    );
    const feed = new FeedReader(applicationId, api);
    tenants.push({
      ...{ applicationId, api, client, devices, feed },
      loadRecord: new LoadRecord(Date.now()),
    });
  }
  const headsets = (await freePorts(2)).map((controlPort, i) =>
    manageHeadsets({
      ...{ name: `headsets-${i + 1}`, dir: dataDir, server: listeners.headsets, controlPort },
      devices: tenants.flatMap((t) => t.devices.filter((_, d) => d % 2 === i)),
      content: surroundings,
      // Apps of the second process answer commands.
      flags: [...headsetFlags, ...(i === 0 ? ['--effect-ms', '30'] : ['--app-answer', 'did it'])],
    }),
  );
  for (const { process } of headsets) process.start();
  const all: Integrators = {
    ...{ tenants, headsets, integrator, files, attempts },
    headsetsOf(deviceId) {
      const found = headsets.find(({ devices }) => devices.some((d) => d.deviceId === deviceId));
      if (!found) throw new Error(`no headset ${deviceId}`);
      return found;
    },
    async stop() {
      await Promise.all(headsets.map(({ process }) => process.kill()));
      await Promise.all(tenants.map(({ api }) => api.close()));
      await Promise.all([integrator.close(), files.close()]);
    },
  };
  // Release 0.1.0 fails where two of its instances draw the very first transaction id at the same time.
  const [first, ...others] = tenants.flatMap((t) => t.devices.map(({ deviceId }) => ({ ...t, deviceId })));
  const activated = ({ client, deviceId }: typeof first & object) => activate(client, deviceId, 0);
  const activations = [
    ...(first ? [await activated(first)] : []),
    ...(await Promise.all(others.map(activated))),
  ];
  const ended = (id: number | undefined) =>
    integrator.received.some(
      ({ body }) => body.transactionId === id && body.notificationType === 'processed',
    );
  // A headset that does not know of its activation yet cannot report to an application.
  await waitFor('the activations', () => activations.every(({ transactionId }) => ended(transactionId)), {
    timeoutMs: 120_000,
    intervalMs: 50,
  });
  return all;
}

/** The same client, which also records the times of its changing calls. */
function noting(api: ApiClient, attempts: Attempt[]): ApiClient {
  const app: ApiClient['app'] = async (method, path, body, headers, signal) => {
    const key = headers?.['idempotency-key'];
    const fromMs = Date.now();
    let answer: ApiAnswer | undefined;
    try {
      answer = await api.app(method, path, body, headers, signal);
      return answer;
    } finally {
      if (key) attempts.push({ key, fromMs, toMs: Date.now(), status: answer?.status ?? 0 });
    }
  };
  return { ...api, app };
}

function drawImei(): string {
  return `35${String(randomInt(10 ** 12)).padStart(13, '0')}`;
}
