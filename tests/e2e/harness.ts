import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { type ApiAnswer, type ApiClient, createApiClient } from '../support/api.ts';
import { Headset, type HeadsetOptions } from '../support/headset/headset.ts';
import { type IntegratorServer, type Received, startIntegrator } from '../support/integrator/server.ts';
import {
  type Admin,
  type AdminAddresses,
  createAdmin,
  type HeadsetKeyFile,
  provisionApplication,
  provisionDevice,
} from '../support/provision.ts';

interface StackInfo {
  readonly kind: 'embedded' | 'real';
  readonly dataDir: string;
  readonly apiUrl: string;
  readonly issuerUrl: string;
  readonly tokenUrl: string;
  readonly deviceLinkUrl: string;
  readonly admin: AdminAddresses;
  readonly adminUrls: Readonly<Record<string, string>>;
  readonly clientsFile: string;
}

const missing = process.env['HEADSET_STACK_MISSING'];

/** The running platform of this suite. */
export const stack: StackInfo = missing ? ({} as StackInfo) : JSON.parse(process.env['HEADSET_STACK'] ?? '{}');

/** `describe`, skipped where the stack cannot run. */
export const describeOnStack = missing ? describe.skip : describe;

export const admin = (): Admin => createAdmin(stack.admin);

/** A made-up IMEI. */
export function imei(): string {
  return `35${String(randomInt(10 ** 12)).padStart(13, '0')}`;
}

/** An integrator with an application, contracted headsets and a server of its own. */
export interface Tenant {
  readonly applicationId: string;
  readonly clientId: string;
  readonly api: ApiClient;
  readonly integrator: IntegratorServer;
  readonly devices: readonly HeadsetKeyFile[];
  /** Answers of the last call, asserted to have the status. */
  call(status: number, method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiAnswer>;
  /** Activates a device (the first). */
  activate(device?: HeadsetKeyFile): Promise<number>;
  command(device?: HeadsetKeyFile, body?: Record<string, unknown>): Promise<number>;
  /** A simulated headset, not connected; closed with the tenant. */
  headset(device?: HeadsetKeyFile, options?: Partial<HeadsetOptions>): Headset;
  /** Verified callbacks of a transaction in order of first arrival. */
  callbacks(transactionId: number): Received[];
  /** Waits for the callback that ends a transaction and answers its body. */
  ended(transactionId: number): Promise<Record<string, unknown>>;
  status(transactionId: number): Promise<string>;
  close(): Promise<void>;
}

export async function createTenant(
  options: { devices?: number; activationLimit?: number; configure?: boolean } = {},
): Promise<Tenant> {
  const operators = admin();
  const client = { clientId: `client-${randomBytes(6).toString('hex')}`, clientSecret: randomBytes(24).toString('hex') };
  addIssuerClient(client);
  const devices: HeadsetKeyFile[] = [];
  for (let i = 0; i < (options.devices ?? 1); i++) devices.push(await provisionDevice(operators, imei()));
  const applicationId = await provisionApplication(operators, {
    developerId: `developer-${client.clientId}`,
    clientIds: [client.clientId],
    name: 'test',
    activationLimit: options.activationLimit ?? 100,
    deviceIds: devices.map((d) => d.deviceId),
  });
  const api = createApiClient({ apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId, ...client });
  const integrator = await startIntegrator({ keys: [] });
  const headsets: Headset[] = [];
  const first = devices[0] as HeadsetKeyFile;

  const tenant: Tenant = {
    applicationId,
    clientId: client.clientId,
    api,
    integrator,
    devices,
    async call(status, method, path, body, headers) {
      const answer = await api.app(method, path, body, headers);
      if (answer.status !== status) {
        throw new Error(
          `${method} ${path}: ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)} ${answer.headers['x-error-detail'] ?? ''}`,
        );
      }
      return answer;
    },
    async activate(device = first) {
      const answer = await tenant.call(201, 'POST', `/devices/${device.deviceId}`, {
        clientId: `app-${randomBytes(6).toString('hex')}`,
      });
      return answer.body.transactionId;
    },
    async command(device = first, body = {}) {
      const answer = await tenant.call(201, 'PUT', `/devices/${device.deviceId}/commands`, {
        package: 'com.example.app',
        launchType: 'activity',
        ...body,
      });
      return answer.body.transactionId;
    },
    headset(device = first, more = {}) {
      const headset = new Headset({
        identity: device,
        server: stack.deviceLinkUrl,
        stateDir: mkdtempSync(join(stack.dataDir, 'headset-')),
        backoff: { firstMs: 50, longestMs: 500 },
        ...more,
      });
      headsets.push(headset);
      return headset;
    },
    callbacks: (id) => integrator.received.filter((r) => r.verified && r.body['transactionId'] === id),
    async ended(id) {
      const end = await waitFor(
        `the end of transaction ${id}`,
        () => tenant.callbacks(id).find((c) => c.body['notificationType'] === 'processed'),
        { timeoutMs: 20_000 },
      );
      return end.body;
    },
    async status(id) {
      return (await tenant.call(200, 'GET', `/transactions/${id}`)).body.transactionStatus;
    },
    async close() {
      await Promise.all(headsets.map((h) => h.close()));
      await api.close();
      await integrator.close();
    },
  };
  if (options.configure !== false) {
    await tenant.call(200, 'PATCH', '', { deviceEvent: integrator.url });
    const { body } = await tenant.call(201, 'POST', '/refresh_authkey');
    integrator.keys.push(body.authenticationKey);
  }
  return tenant;
}

/** The issuer reads its clients at each token request. */
function addIssuerClient(client: { clientId: string; clientSecret: string }): void {
  const file = stack.clientsFile;
  const clients = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
  const fresh = `${file}.${process.pid}.tmp`;
  writeFileSync(fresh, JSON.stringify([...clients, client]), { mode: 0o600 });
  renameSync(fresh, file);
}
