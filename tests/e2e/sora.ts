import { randomBytes } from 'node:crypto';
import { SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import { admin, stack } from './harness.ts';

/** A separate Sora of the test, registered as an endpoint of a version that no other test has. */
export interface TestSora {
  readonly endpointId: string;
  readonly version: string;
  readonly signalingUrl: string;
  readonly sora: SoraSimulator;
  /** Number of connections in use. */
  taken(): Promise<number>;
  close(): Promise<void>;
}

export async function startSora(
  options: { version?: string; connectionLimit?: number } = {},
): Promise<TestSora> {
  const unique = randomBytes(5).toString('hex');
  const endpointId = `sora-${unique}`;
  const version = options.version ?? `1.0.${unique}`;
  const secret = randomBytes(24).toString('base64url');
  const sora = new SoraSimulator({ endpointId, secret, webhookUrl: stack.soraWebhookUrl });
  await sora.start();
  const signalingUrl = `wss://${endpointId}.example.com/signaling`;
  const { communication } = admin();
  await communication.putEndpoint({
    endpoint: {
      ...{ endpointId, signalingUrl, soraVersion: version, webhookSecret: secret },
      ...{ connectionLimit: options.connectionLimit ?? 10, archiveUrl: sora.archiveUrl },
    },
  });
  return {
    ...{ endpointId, version, signalingUrl, sora },
    async taken() {
      const { endpoints } = await communication.listEndpoints({});
      return endpoints.find((one) => one.endpointId === endpointId)?.taken ?? 0;
    },
    async close() {
      await communication.removeEndpoint({ endpointId });
      await sora.close();
    },
  };
}
