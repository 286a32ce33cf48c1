import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { SoraSimulator, type Webhook } from '@headset-cloud/demo/sora/simulator.ts';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { RecordingBaseline } from '../baselines/recording.ts';
import { figure, interleave, type Report } from '../lib/figures.ts';
import { processFigures } from '../lib/process-figures.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker, type Worker } from '../lib/worker.ts';
import { startWorld, type World } from '../lib/world.ts';
import type { ArchiveSource } from '../surroundings/archive.ts';
import type { StorageSink } from '../surroundings/storage.ts';

const soraVersion = '2025.1.0';
const partBytes = 10 * 1024 * 1024;
const sampleMs = 20;
/** Wait before memory is measured first; milliseconds. */
const settleMs = 2000;

/**
 * A large recording that is copied from Sora's archive to the integrator's storage: the maximum of resident
 * memory, and the throughput from Sora's report to the notification, against a bare multipart upload of the
 * same bytes in the same parts. It is the same on both stacks, because neither the archive nor the storage is
 * part of them.
 */
export async function measureRecording(kind: StackKind, settings: Settings): Promise<Report> {
  if (kind === 'real') return { figures: [], notes: ['recording: as on the embedded stack.'] };
  const webmBytes = settings.recordingBytes;
  const world = await startWorld(kind, settings, { COMMUNICATION_PART_BYTES: String(partBytes) });
  const archive = startWorker<ArchiveSource>('surroundings/archive.ts');
  const storage = startWorker<StorageSink>('surroundings/storage.ts');
  const baseline = startWorker<RecordingBaseline>('baselines/recording.ts');
  const secret = randomBytes(24).toString('base64url');
  const { soraWebhookUrl: webhookUrl } = world.stack;
  const sora = new SoraSimulator({ endpointId: 'sora', secret, webhookUrl });
  try {
    const archiveUrl = await archive.call('start', { webmBytes });
    const origin = await storage.call('start', { webmBytes, partBytes });
    await prepare(world, { archiveUrl, secret, origin });
    const rate = (ms: number) => webmBytes / 2 ** 20 / (ms / 1000);
    const grown: number[] = [];
    let files = 0;
    const runs = await interleave(settings.runs, {
      baseline: async () => {
        files += 1;
        const file = `baseline-${files}.webm`;
        const urls = await storage.call('sign', { file });
        const ms = await baseline.call('upload', { archiveUrl, file, webmBytes, partBytes, urls });
        await storage.call('check', {});
        return rate(ms);
      },
      ours: async () => {
        const { ms, grownBytes } = await upload(world, sora, storage, webmBytes);
        grown.push(grownBytes / 2 ** 20);
        return rate(ms);
      },
    });
    const size = `${(webmBytes / 2 ** 30).toFixed(2)} GiB`;
    return {
      figures: [
        figure(`recording of ${size}`, 'MiB/s', { atLeast: 0.7 }, runs),
        {
          measure: `recording of ${size}, memory`,
          unit: 'MiB',
          // The first run counts too, because nothing has warmed the process up.
          ours: Math.max(...grown),
          baseline: undefined,
          goal: { atMost: 64 },
        },
      ],
      notes: [
        `recording: parts of ${partBytes / 2 ** 20} MiB, each byte compared by the storage; memory grew by ${grown.map((mib) => mib.toFixed(1)).join(', ')} MiB.`,
      ],
    };
  } finally {
    await Promise.all([archive, storage, baseline].map((w: Worker<never>) => w.stop()));
    await world.close();
  }
}

async function prepare(
  world: World,
  o: { archiveUrl: string; secret: string; origin: string },
): Promise<void> {
  await world.admin.communication.putEndpoint({
    endpoint: {
      endpointId: 'sora',
      signalingUrl: 'wss://sora.example.com/signaling',
      soraVersion,
      connectionLimit: 100,
      archiveUrl: o.archiveUrl,
      webhookSecret: o.secret,
    },
  });
  await ask(world, 201, 'POST', '/refresh_authkey');
  await ask(world, 200, 'PATCH', '', {
    soraFileSendEvent: `${o.origin}/notification`,
    soraRecGetMultiPresignedUrl: `${o.origin}/sign`,
  });
}

/** One recording, from Sora's report to the notification, and its maximum of memory. */
async function upload(
  world: World,
  sora: SoraSimulator,
  storage: Worker<StorageSink>,
  webmBytes: number,
): Promise<{ ms: number; grownBytes: number }> {
  const { channelId } = await ask(world, 201, 'POST', '/channels', { soraVersion });
  const connection = sora.join(channelId);
  await send(sora.created(connection));
  const { webhooks } = sora.record([connection], { webmBytes });
  const pid = world.stack.processes['platform']?.pid ?? 0;
  await pause(settleMs);
  const before = processFigures(pid).rssBytes;
  let [most, uploading] = [before, true];
  const sampling = (async () => {
    while (uploading) {
      most = Math.max(most, processFigures(pid).rssBytes);
      await pause(sampleMs);
    }
  })();
  const began = performance.now();
  for (const webhook of webhooks) await send(webhook);
  const notification = await storage.call('notification', {});
  const ms = performance.now() - began;
  uploading = false;
  await sampling;
  await storage.call('check', {});
  if (notification?.channel?.channelId !== channelId || notification?.message !== undefined) {
    throw new Error(`the notification says ${JSON.stringify(notification ?? null).slice(0, 500)}`);
  }
  await send(sora.destroyed(connection));
  return { ms, grownBytes: most - before };
}

async function send(webhook: Webhook): Promise<void> {
  const status = await webhook.send();
  if (status !== 200) throw new Error(`${String(webhook.body['type'])}: ${status}`);
}

async function ask(world: World, status: number, method: string, path: string, body?: unknown) {
  const answer = await world.api.app(method, path, body);
  if (answer.status !== status) {
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
  return answer.body;
}
