import { createHash } from 'node:crypto';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { archiveBytes } from '@headset-cloud/tests/support/sora/archives.ts';
import {
  type SimulatedConnection,
  type SimulatedRecording,
  SoraSimulator,
} from '@headset-cloud/tests/support/sora/simulator.ts';
import { type Storage, startStorage } from '@headset-cloud/tests/support/sora/storage.ts';
import type { CommunicationConfig } from '../config.ts';
import { type Callback, caller, endpoint, openWorld, type World } from './world.ts';

/** A world with an endpoint that keeps recordings, a channel with two connections, and a storage. */
export interface Studio {
  readonly world: World;
  readonly sora: SoraSimulator;
  readonly storage: Storage;
  readonly channelId: string;
  readonly connections: readonly SimulatedConnection[];
  /** Sends the webhooks of a recording. */
  tell(recording: SimulatedRecording): Promise<void>;
  /** The recording's notification, once it is out and nothing is left to do; repeats must be equal. */
  notification(recording: SimulatedRecording): Promise<Callback>;
  /** The notification as soon as it is out. */
  told(recording: SimulatedRecording): Promise<Callback>;
  state(recording: SimulatedRecording): Promise<string>;
  close(): Promise<void>;
}

export async function openStudio(config: Partial<CommunicationConfig> = {}): Promise<Studio> {
  const world = await openWorld(config);
  const storage = await startStorage();
  const sora = new SoraSimulator({
    endpointId: 'one',
    secret: 'secret-of-one-0123456789',
    webhookUrl: () => world.webhookUrl(),
  });
  await sora.start();
  await world.admin.putEndpoint(endpoint('one', { archiveUrl: sora.archiveUrl }));
  const { channelId } = await world.communication.createChannel({ caller: caller() });
  world.signedUrls = (body) => storage.sign(body);
  const state = async ({ recordingId }: SimulatedRecording) => {
    const { recordings } = await world.admin.listRecordings({});
    return recordings.find((one) => one.recordingId === recordingId)?.state ?? '';
  };
  const ours = async ({ recordingId }: SimulatedRecording) =>
    (await world.callbacks()).filter(({ id }) => id === `recording-${recordingId}`);
  const told = (recording: SimulatedRecording) =>
    waitFor('the notification', async () => (await ours(recording))[0], { timeoutMs: 20_000 });
  return {
    ...{ told },
    ...{ world, sora, storage, channelId, state },
    connections: [sora.join(channelId), sora.join(channelId)],
    async tell(recording) {
      for (const webhook of recording.webhooks) {
        if ((await webhook.send()) !== 200) throw new Error('a webhook was refused');
      }
    },
    async notification(recording) {
      await told(recording);
      await waitFor('the end of the work', async () => {
        const left = await world.store
          .collection('recordings')
          .countDocuments({ dueAtMs: { $exists: true } });
        return left === 0;
      });
      const [first, ...repeats] = await ours(recording);
      for (const repeat of repeats) expect(repeat).toEqual(first);
      return first as Callback;
    },
    async close() {
      await world.close();
      await sora.close();
      await storage.close();
    },
  };
}

/** SHA-256 of a part of an archived file, hexadecimal. */
export function archiveHash(file: string, from: number, bytes: number): string {
  return createHash('sha256')
    .update(archiveBytes(file, from, bytes))
    .digest('hex');
}
