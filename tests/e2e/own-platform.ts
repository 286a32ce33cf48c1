import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiAnswer, type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import { Headset, type HeadsetOptions } from '@headset-cloud/demo/headset/headset.ts';
import {
  type Admin,
  createAdmin,
  provisionApplication,
  provisionDevice,
} from '@headset-cloud/demo/provision.ts';
import { type Stack, type StackOptions, startStack } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { contractChecked, imei, ownBacking, stack as suiteStack } from './harness.ts';
import { type Receiver, type Reply, startReceiver } from './receiver.ts';

/** A platform in addition to the suite's, for tests that need other settings; with one contracted device. */
export interface OwnPlatform {
  readonly stack: Stack;
  readonly admin: Admin;
  /** Every answer is validated against cws_api.yaml. */
  readonly api: ApiClient;
  readonly deviceId: string;
  /** Makes a call and returns its answer; throws if the answer has another status. */
  call(status: number, method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  /** Sends the callbacks to a new receiver of the test from now on. */
  receiver(reply: Parameters<typeof startReceiver>[0]): Promise<Receiver>;
  /** Sends a command; returns its transaction's id. */
  command(body?: object): Promise<number>;
  status(transactionId: number): Promise<string>;
  /** A simulated headset for the device, not connected. */
  headset(options?: Partial<HeadsetOptions>): Headset;
  close(): Promise<void>;
}

/** Starts a platform on the suite's kind of stack; its device is activated. */
export async function openOwnPlatform(
  options: Pick<StackOptions, 'env' | 'gatewayReaches' | 'gateways' | 'headsetTls' | 'instances'>,
): Promise<OwnPlatform> {
  const client = { clientId: 'own', clientSecret: randomBytes(24).toString('hex') };
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-own-'));
  const stack = await startStack({
    ...{ kind: suiteStack.kind, dataDir: folder, clients: [client] },
    backing: await ownBacking(),
    ...options,
  });
  const ca = stack.headsetCaFile && readFileSync(stack.headsetCaFile, 'utf8');
  const admin = createAdmin(stack.admin);
  const identity = await provisionDevice(admin, imei());
  const { deviceId } = identity;
  const applicationId = await provisionApplication(admin, {
    ...{ developerId: 'own', clientIds: [client.clientId], name: 'own', activationLimit: 1 },
    deviceIds: [deviceId],
  });
  const access = { apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId, ...client };
  const api = contractChecked(createApiClient(access, {}), applicationId);
  const receivers: Receiver[] = [];
  const headsets: Headset[] = [];
  const own: OwnPlatform = {
    ...{ stack, admin, api, deviceId },
    async call(status, method, path, body) {
      const answer = await api.app(method, path, body);
      if (answer.status !== status) {
        throw new Error(
          `${method} ${path}: ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`,
        );
      }
      return answer;
    },
    async receiver(reply) {
      const made = await startReceiver(reply);
      receivers.push(made);
      await own.call(200, 'PATCH', '', { deviceEvent: made.url });
      return made;
    },
    async command(body = { package: 'com.example.app', launchType: 'activity' }) {
      return (await own.call(201, 'PUT', `/devices/${deviceId}/commands`, body)).body.transactionId;
    },
    async status(id) {
      return (await own.call(200, 'GET', `/transactions/${id}`)).body.transactionStatus;
    },
    headset(more = {}) {
      const made = new Headset({
        ...{ identity, server: stack.deviceLinkUrl, backoff: { firstMs: 50, maxMs: 500 } },
        stateDir: mkdtempSync(join(folder, 'headset-')),
        ...(ca && { ca }),
        ...more,
      });
      headsets.push(made);
      return made;
    },
    async close() {
      await Promise.all(headsets.map((h) => h.close()));
      await api.close();
      await stack.stop();
      await Promise.all(receivers.map((r) => r.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const taking = (await own.receiver((): Reply => 204)).arrivals;
  await own.call(201, 'POST', '/refresh_authkey');
  const { transactionId } = (await own.call(201, 'POST', `/devices/${deviceId}`, { clientId: 'own' })).body;
  // The activation has ended before tests change the destination of callbacks.
  const first = own.headset();
  first.connect();
  await waitFor('the activation', () =>
    taking.some((a) => a.body.transactionId === transactionId && a.body.notificationType === 'processed'),
  );
  await first.close();
  return own;
}
