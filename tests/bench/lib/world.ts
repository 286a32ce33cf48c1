import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import {
  type Admin,
  createAdmin,
  provisionApplication,
  provisionDevice,
} from '@headset-cloud/demo/provision.ts';
import { oneProcessWanted } from '@headset-cloud/demo/stack/instances.ts';
import { type ManagedProcess, manageProcess } from '@headset-cloud/demo/stack/process.ts';
import {
  type IssuerClient,
  type Stack,
  type StackKind,
  startStack,
} from '@headset-cloud/demo/stack/stack.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { withoutLimits } from '../../support/limits.ts';
import { closedWithTheBench } from './cleanup.ts';
import type { Settings } from './settings.ts';

/** An integrator with its own application. */
export interface Tenant {
  readonly api: ApiClient;
  readonly applicationId: string;
  /** Registers devices with keys and adds them to the application's contract. */
  devices(count: number): Promise<HeadsetKeyFile[]>;
  /** Sets the address of callbacks, and returns the authentication key. */
  callbacksTo(url: string): Promise<string>;
  /** Activates devices; returns the transactions' ids. */
  activate(devices: readonly HeadsetKeyFile[]): Promise<number[]>;
}

/** A fresh platform with one integrator's application; it is removed with all its data at the end. */
export interface World extends Tenant {
  readonly stack: Stack;
  readonly admin: Admin;
  readonly dir: string;
  /** Another integrator. */
  neighbour(): Promise<Tenant>;
  /**
   * Starts a simulator's process with these headsets and waits until all of them are online, in addition to earlier
   * ones.
   */
  headsets(
    devices: readonly HeadsetKeyFile[],
    before?: number,
    how?: Omit<HeadsetsOptions, 'caFile'>,
  ): Promise<ManagedProcess>;
  close(): Promise<void>;
}

/** How a simulator's process runs its headsets. */
interface HeadsetsOptions {
  readonly caFile?: string | undefined;
  /** Port on which the process accepts actions (README of services/demo). */
  readonly controlPort?: number;
  /** New connections per second. */
  readonly connectRate?: number;
}

/** Number of concurrent calls during the preparation. */
const preparingCallers = 32;

/**
 * Starts the platform on a stack and provisions an application. `env` is for all its processes; `sources` is
 * the root of the sources that they run (default: the project's); `headsetTls`: headsets connect by TLS.
 */
export async function startWorld(
  kind: StackKind,
  settings: Pick<Settings, 'profileDir'>,
  env: Readonly<Record<string, string>> = {},
  sources?: string,
  headsetTls = false,
): Promise<World> {
  const dir = mkdtempSync(join(tmpdir(), `headset-cloud-bench-${kind}-`));
  const [client, neighbour] = ['bench', 'neighbour'].map((clientId) => ({
    clientId,
    clientSecret: randomBytes(24).toString('hex'),
  })) as [IssuerClient, IssuerClient];
  const profile = settings.profileDir && `--cpu-prof --cpu-prof-dir=${settings.profileDir}`;
  const stack = await startStack({
    kind,
    dataDir: dir,
    clients: [client, neighbour],
    env: { ...withoutLimits, ...(profile && { NODE_OPTIONS: profile }), ...env },
    sourcesOf: () => sources,
    // An earlier commit may support only separate processes.
    ...(sources !== undefined && {
      oneProcess: oneProcessWanted({ PROCESSES: process.env['BENCH_AGAINST_PROCESSES'] }),
    }),
    headsetTls,
  }).catch((error) => {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  });
  const admin = createAdmin(stack.admin);
  const tenants: Tenant[] = [];
  const open = async (of: IssuerClient) => {
    const tenant = await openTenant(stack, admin, of);
    tenants.push(tenant);
    return tenant;
  };
  const own = await open(client);
  const simulators: ManagedProcess[] = [];
  return {
    ...own,
    stack,
    admin,
    dir,
    neighbour: () => open(neighbour),
    async headsets(devices, before = 0, how = {}) {
      const { deviceLinkUrl, headsetCaFile } = stack;
      const simulator = startHeadsets(dir, deviceLinkUrl, devices, { ...how, caFile: headsetCaFile });
      simulators.push(simulator);
      await waitFor(
        `${devices.length} headsets to be online`,
        async () => (await sessionsOf(stack)) >= before + devices.length,
        { timeoutMs: 120_000, intervalMs: 200 },
      );
      return simulator;
    },
    close: closedWithTheBench(async () => {
      await Promise.all(tenants.map(({ api }) => api.close()));
      await Promise.all(simulators.map((s) => s.kill()));
      await stack.stop();
      rmSync(dir, { recursive: true, force: true });
    }),
  };
}

async function openTenant(stack: Stack, admin: Admin, client: IssuerClient): Promise<Tenant> {
  const applicationId = await provisionApplication(admin, {
    developerId: client.clientId,
    clientIds: [client.clientId],
    name: client.clientId,
    activationLimit: 100_000,
    deviceIds: [],
  });
  const { apiUrl, tokenUrl } = stack;
  const api = createApiClient({ apiUrl, tokenUrl, applicationId, ...client });
  const call = async (status: number, method: string, path: string, body?: unknown) => {
    const answer = await api.app(method, path, body);
    if (answer.status === status) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  };
  return {
    api,
    applicationId,
    async devices(count) {
      const first = 35 * 10 ** 13 + randomInt(10 ** 12) * 10;
      const devices = await eachOf(count, (i) => provisionDevice(admin, String(first + i)));
      for (let i = 0; i < count; i += 500) {
        const addDeviceIds = devices.slice(i, i + 500).map((d) => d.deviceId);
        await admin.devices.putContract({ applicationId, activationLimit: 100_000, addDeviceIds });
      }
      return devices;
    },
    async callbacksTo(url) {
      await call(200, 'PATCH', '', { deviceEvent: url });
      return (await call(201, 'POST', '/refresh_authkey')).authenticationKey;
    },
    activate: (devices) =>
      eachOf(devices.length, async (i) => {
        const deviceId = devices[i]?.deviceId;
        // A client id belongs to one device.
        const body = await call(201, 'POST', `/devices/${deviceId}`, { clientId: `app-${deviceId}` });
        return body.transactionId;
      }),
  };
}

/**
 * A simulator's process. Its headsets keep everything in memory (durability `none`), because their disks are
 * not measured.
 */
export function startHeadsets(
  dir: string,
  server: string,
  devices: readonly HeadsetKeyFile[],
  { caFile, controlPort, connectRate }: HeadsetsOptions = {},
): ManagedProcess {
  const name = `headsets-${randomBytes(3).toString('hex')}`;
  const keys = join(dir, `${name}.json`);
  writeFileSync(keys, JSON.stringify(devices), { mode: 0o600 });
  const simulator = manageProcess({
    name,
    entry: 'services/demo/src/headset/main.ts',
    args: [
      ...['--server', server, '--key-file', keys, '--durability', 'none', '--quiet'],
      ...(caFile ? ['--ca', caFile] : []),
      ...(controlPort ? ['--control-port', String(controlPort)] : []),
      ...(connectRate ? ['--connect-rate', String(connectRate)] : []),
    ],
    env: {},
    logFile: join(dir, `${name}.log`),
  });
  simulator.start();
  return simulator;
}

/** Number of headsets with a session, from device-link's metrics. */
export async function sessionsOf(stack: Stack): Promise<number> {
  const url = stack.adminUrls['device-link'] ?? stack.adminUrls['platform'] ?? '';
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^headset_sessions(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1] ?? 0);
}

/** Runs `work` for 0 to count - 1 with limited concurrency; returns the results in order. */
export async function eachOf<T>(count: number, work: (i: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(preparingCallers, count) }, async () => {
      while (next < count) {
        const i = next++;
        results[i] = await work(i);
      }
    }),
  );
  return results;
}
