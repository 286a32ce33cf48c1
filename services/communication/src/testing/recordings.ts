import { createHash } from 'node:crypto';
import { archiveBytes } from '@headset-cloud/demo/sora/archives.ts';
import {
  type SimulatedConnection,
  type SimulatedRecording,
  SoraSimulator,
} from '@headset-cloud/demo/sora/simulator.ts';
import { type Storage, startStorage } from '@headset-cloud/demo/sora/storage.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { afterEach, beforeEach } from '@jest/globals';
import { type Body, type Callback, caller, endpoint, MiB, openWorld, type World } from './world.ts';

export const single = 'soraRecGetPresignedUrl';
export const multi = 'soraRecGetMultiPresignedUrl';
/**
 * Bytes of a part, which is read and sent in several pieces. The service's environment accepts no parts below 5 MiB.
 */
export const part = MiB;

/** A world with an endpoint that stores recordings, a channel with two connections, and a storage. */
export interface Studio {
  readonly world: World;
  readonly sora: SoraSimulator;
  readonly storage: Storage;
  readonly channelId: string;
  readonly connections: readonly SimulatedConnection[];
  /** Sends the webhooks of a recording. */
  sendWebhooks(recording: SimulatedRecording): Promise<void>;
  /** The recording's notification, once it is published and all work is done. Repeats must be equal. */
  notification(recording: SimulatedRecording): Promise<Callback>;
  /** The notification as soon as it is published. */
  published(recording: SimulatedRecording): Promise<Callback>;
  state(recording: SimulatedRecording): Promise<string>;
  /** Creates a recording of both connections. */
  record(webmBytes?: number): SimulatedRecording;
  /** Creates a recording of one connection in `parts` parts; the last part has one byte. */
  recordParts(parts: number): SimulatedRecording;
  /** Parts stored for a file, in their order, including repeats. */
  partsOf(file: string | undefined): Storage['stored'];
  /** Numbers of the parts stored for a file. */
  numbers(file: string | undefined): number[];
  /** Advances the service's clock, so that paused work continues, until the timer is cleared. */
  tick(): NodeJS.Timeout;
  /** Sends the webhooks of a recording; returns the body of its notification. */
  failure(recording: SimulatedRecording): Promise<Body>;
  close(): Promise<void>;
}

/**
 * A new studio for each test of a file, with those settings of the integrator. Call it once per file, because each test
 * opens its own store on the disk and waits for background work.
 */
export function useStudio(...settings: readonly string[]): { readonly studio: Studio } {
  let studio: Studio;
  beforeEach(async () => {
    studio = await openStudio();
    for (const setting of settings) studio.world.set.add(setting);
  });
  afterEach(() => studio.close());
  return {
    get studio() {
      return studio;
    },
  };
}

async function openStudio(): Promise<Studio> {
  const world = await openWorld({ COMMUNICATION_PART_BYTES: part });
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
  const published = (recording: SimulatedRecording) =>
    waitFor('the notification', async () => (await ours(recording))[0], { timeoutMs: 20_000 });
  const connections = [sora.join(channelId), sora.join(channelId)];
  const partsOf = (file: string | undefined) => storage.stored.filter((one) => one.file === file);
  const studio: Studio = {
    ...{ published },
    ...{ world, sora, storage, channelId, state, connections, partsOf },
    record: (webmBytes = 1000) => sora.record(connections, { webmBytes }),
    recordParts: (parts) => sora.record(connections.slice(0, 1), { webmBytes: (parts - 1) * part + 1 }),
    numbers: (file) => partsOf(file).map(({ partNumber }) => partNumber),
    tick: () =>
      setInterval(() => {
        world.nowMs += 50;
      }, 10),
    async failure(recording) {
      await studio.sendWebhooks(recording);
      return (await studio.notification(recording)).body;
    },
    async sendWebhooks(recording) {
      for (const webhook of recording.webhooks) {
        if ((await webhook.send()) !== 200) throw new Error('a webhook was rejected');
      }
    },
    async notification(recording) {
      await published(recording);
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
  return studio;
}

/** SHA-256 of a part of an archived file, hexadecimal. */
export function archiveHash(file: string, from: number, bytes: number): string {
  return createHash('sha256')
    .update(archiveBytes(file, from, bytes))
    .digest('hex');
}
