import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { type IntegratorServer, startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import { createAdmin, provisionApplication, provisionDevice } from '@headset-cloud/demo/provision.ts';
import { type Stack, type StackKind, startStack } from '@headset-cloud/demo/stack/stack.ts';
import { withoutLimits } from '../support/limits.ts';

/** A running platform with an integrator. The calls may change its devices and applications. */
export interface World {
  readonly stack: Stack;
  readonly token: string;
  /** For most calls. */
  readonly applicationId: string;
  readonly deviceId: string;
  /** For calls that would disturb other calls: a separate application and device. */
  readonly spareApplicationId: string;
  readonly spareDeviceId: string;
  stop(): Promise<void>;
}

const client = { clientId: 'schemathesis', clientSecret: 'schemathesis-secret' };

export async function startWorld(kind: StackKind): Promise<World> {
  const dataDir = mkdtempSync(join(tmpdir(), `headset-cloud-schemathesis-${kind}-`));
  const open: { close(): Promise<void> }[] = [];
  let stack: Stack | undefined;
  const stop = async () => {
    await Promise.all(open.map((o) => o.close()));
    await stack?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    stack = await startStack({ kind, dataDir, clients: [client], env: withoutLimits });
    const admin = createAdmin(stack.admin);
    await admin.communication.putEndpoint({
      endpoint: {
        ...{ endpointId: 'sora-1', signalingUrl: 'wss://sora.test/signaling' },
        ...{ soraVersion: '2025.1.0', connectionLimit: 50_000, webhookSecret: 'schemathesis-webhook' },
      },
    });
    const imei = () => `35${String(randomInt(10 ** 12)).padStart(13, '0')}`;
    const device = await provisionDevice(admin, imei());
    const spare = await provisionDevice(admin, imei());
    const provision = (deviceIds: string[]) =>
      provisionApplication(admin, {
        ...{ developerId: 'developer', clientIds: [client.clientId], name: 'schemathesis' },
        ...{ activationLimit: 10, deviceIds },
      });
    const applicationId = await provision([device.deviceId, spare.deviceId]);
    const spareApplicationId = await provision([]);
    const integrator = await startIntegrator({ keys: [] });
    open.push(integrator);
    const { apiUrl, tokenUrl, deviceLinkUrl } = stack;
    const api = createApiClient({ apiUrl, tokenUrl, ...client, applicationId });
    open.push(api);
    await prepare(api, integrator, [device.deviceId, spare.deviceId]);
    const headset = new Headset({
      identity: device,
      server: deviceLinkUrl,
      stateDir: join(dataDir, 'headset'),
    });
    open.push(headset);
    headset.connect();
    return {
      ...{ stack, token: await api.token(), applicationId, spareApplicationId },
      ...{ deviceId: device.deviceId, spareDeviceId: spare.deviceId, stop },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function prepare(api: ApiClient, integrator: IntegratorServer, deviceIds: string[]): Promise<void> {
  const expect = async (status: number, method: string, path: string, body?: object) => {
    const answer = await api.app(method, path, body);
    if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status}`);
    return answer.body;
  };
  await expect(200, 'PATCH', '', { deviceEvent: integrator.url });
  integrator.keys.push((await expect(201, 'POST', '/refresh_authkey')).authenticationKey);
  for (const [i, deviceId] of deviceIds.entries()) {
    await expect(201, 'POST', `/devices/${deviceId}`, { clientId: `client-${i}` });
  }
}
