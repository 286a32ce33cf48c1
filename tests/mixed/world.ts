import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { type IntegratorServer, startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import {
  type Admin,
  createAdmin,
  provisionApplication,
  provisionDevice,
} from '@headset-cloud/demo/provision.ts';
import { SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import { startStack } from '@headset-cloud/demo/stack/stack.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { type ServiceName, serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { createNetwork } from '../faults/network/network.ts';
import { withoutLimits } from '../support/limits.ts';
import type { DeadLetter, Findings } from './findings.ts';

/** All parts, in the order of their replacement. */
export const parts = [...serviceNames, 'gateway'] as const;
export type Part = (typeof parts)[number];
export type Version = 'today' | 'release';

/** A platform with processes of two versions, its integrator and its headsets. */
export interface World {
  readonly applicationId: string;
  readonly api: ApiClient;
  readonly integrator: IntegratorServer;
  readonly sora: SoraSimulator;
  /** Creates a headset of a new device. It connects to `listener` (default: any device-link). */
  newHeadset(listener?: string): Headset;
  /** Headset addresses of the running device-link processes. */
  listeners(): string[];
  version(part: Part): Version;
  /** Starts the part in version `to`, calls `during` while both versions run, then stops the former process. */
  swap(part: Part, to: Version, during?: () => Promise<void>, env?: Record<string, string>): Promise<void>;
  /** Returns the current dead letters of all consumer groups. */
  deadLetters(): Promise<DeadLetter[]>;
  stop(): Promise<void>;
}

/** Short intervals, so that the work of a stopped process is resumed soon. */
const shortTimes = {
  // The release uses plaintext between services, so this is the mode of an installation during its upgrade.
  RPC_TLS_MODE: 'permissive',
  NOTIFIER_BACKOFF_FIRST_MS: '50',
  NOTIFIER_BACKOFF_MAX_MS: '1000',
  NOTIFIER_PROBE_MAX_MS: '500',
  NOTIFIER_SWEEP_MS: '200',
  TRANSACTIONS_SWEEP_MS: '200',
  TRANSACTIONS_RETRY_INTERVAL_MS: '0',
  TRANSACTIONS_PROGRESS_INTERVAL_MS: '0',
  DEVICES_SWEEP_INTERVAL_MS: '200',
  UPDATES_SWEEP_INTERVAL_MS: '200',
  COMMUNICATION_SWEEP_MS: '200',
};

export async function startWorld(options: {
  dataDir: string;
  /** Root of the release's sources. */
  release: string;
  /** Number of available headsets. */
  headsets: number;
  findings: Findings;
}): Promise<World> {
  const { dataDir, findings } = options;
  const client = { clientId: 'mixed', clientSecret: randomBytes(24).toString('hex') };
  /** Name of each part's running process; each part has two process names. */
  const place = new Map<Part, string>(parts.map((part) => [part, part]));
  const versions = new Map<string, Version>();
  const stack = await startStack({
    ...{ kind: 'real', dataDir, clients: [client], env: { ...withoutLimits, ...shortTimes }, gateways: 2 },
    instances: Object.fromEntries(serviceNames.map((service) => [service, 2])),
    later: parts.map((part) => `${part}-2`),
    sourcesOf: (name) => (versions.get(name) === 'release' ? options.release : undefined),
  });
  const admin = (): Admin => {
    const at = (service: ServiceName) => stack.adminUrls[place.get(service) ?? ''] ?? '';
    const [devices, transactions, notifier] = [at('devices'), at('transactions'), at('notifier')];
    const [updates, connectivity] = [at('updates'), at('connectivity')];
    const [communication, billing] = [at('communication'), at('billing')];
    return createAdmin({ devices, transactions, notifier, updates, connectivity, communication, billing });
  };
  const network = createNetwork();
  const apiUrl = `http://${await network.listener('integrators>gateway', stack.gatewayAddresses)}`;
  const anyListener = await network.listener('headsets>device-link', stack.deviceLinkUrls);
  const integrator = await startIntegrator({ keep: Number.POSITIVE_INFINITY });
  const sora = await startSora(
    admin(),
    `http://${await network.listener('sora>communication', stack.soraWebhookAddresses)}`,
  );
  const devices: HeadsetKeyFile[] = [];
  for (let i = 0; i < options.headsets; i++) devices.push(await provisionDevice(admin(), drawImei()));
  const applicationId = await provisionApplication(admin(), {
    ...{ developerId: 'mixed', clientIds: [client.clientId], name: 'mixed', activationLimit: devices.length },
    deviceIds: devices.map((d) => d.deviceId),
  });
  const api = createApiClient({ apiUrl, tokenUrl: stack.tokenUrl, applicationId, ...client });
  const settings = { deviceEvent: integrator.url, soraEvent: integrator.url };
  const set = await api.app('PATCH', '', settings);
  const key = await api.app('POST', '/refresh_authkey');
  if (set.status !== 200 || key.status !== 201) throw new Error('the application was not configured');
  integrator.keys.push(key.body.authenticationKey);
  const headsets: Headset[] = [];
  const world: World = {
    ...{ applicationId, api, integrator, sora },
    newHeadset(listener = anyListener) {
      const identity = devices.pop();
      if (!identity) throw new Error('more headsets are needed than the option headsets says');
      const headset = new Headset({
        ...{ identity, server: listener, stateDir: mkdtempSync(join(dataDir, 'headset-')) },
        backoff: { firstMs: 50, maxMs: 500 },
      });
      headsets.push(headset);
      headset.connect();
      return headset;
    },
    listeners: () =>
      stack.deviceLinkUrls.filter(
        (_, i) => stack.processes[i === 0 ? 'device-link' : `device-link-${i + 1}`]?.running,
      ),
    version: (part) => versions.get(place.get(part) ?? '') ?? 'today',
    async swap(part, to, during, env) {
      const from = place.get(part) ?? '';
      const next = from === part ? `${part}-2` : part;
      const [old, fresh] = [stack.processes[from], stack.processes[next]];
      if (!old || !fresh) throw new Error(`no process of ${part}`);
      versions.set(next, to);
      fresh.start(env);
      await stack.ready(120_000, [next]);
      await during?.();
      place.set(part, next);
      const went = await old.stop();
      const how = await old.exited;
      if (!went || how !== '0') findings.add('processes', `${from} got SIGTERM and ended with ${how}`);
    },
    async deadLetters() {
      const lists = admin().deadLetters.map((listener) => listener.listDeadLetters({ limit: 1000 }));
      return (await Promise.all(lists)).flatMap((list) => list.deadLetters);
    },
    async stop() {
      await Promise.all(headsets.map((h) => h.close()));
      await stack.stop();
      await network.close();
      await api.close();
      await Promise.all([integrator.close(), sora.close()]);
    },
  };
  return world;
}

async function startSora(admin: Admin, webhookUrl: string): Promise<SoraSimulator> {
  const [endpointId, soraVersion] = ['sora-1', '2024.1.0'];
  const secret = randomBytes(24).toString('base64url');
  const sora = new SoraSimulator({ endpointId, secret, webhookUrl });
  await sora.start();
  await admin.communication.putEndpoint({
    endpoint: {
      ...{ endpointId, soraVersion, signalingUrl: 'wss://sora.example.com/signaling' },
      ...{ webhookSecret: secret, connectionLimit: 10_000, archiveUrl: sora.archiveUrl },
    },
  });
  await admin.communication.setDefaultVersion({ soraVersion });
  return sora;
}

function drawImei(): string {
  return `35${String(randomInt(10 ** 12)).padStart(13, '0')}`;
}
