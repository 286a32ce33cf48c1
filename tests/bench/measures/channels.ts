import { randomBytes } from 'node:crypto';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { ChannelsBaseline } from '../baselines/channels.ts';
import { figure, interleave, percentile, type Report } from '../lib/figures.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker } from '../lib/worker.ts';
import { startWorld, type World } from '../lib/world.ts';
import type { ChannelTarget } from '../load/channels.ts';
import type { Load } from '../load/main.ts';

const callers = 64;
const endpoints = 4;
const soraVersion = '2025.1.0';
/** Short enough that the endpoints never fill up, at any rate of requests. */
const reservationMs = 1000;

/** The call that returns the endpoint for a video call, compared with a bare gRPC call. */
export async function measureChannels(kind: StackKind, settings: Settings): Promise<Report> {
  const world = await startWorld(kind, settings, { COMMUNICATION_RESERVATION_MS: String(reservationMs) });
  const load = startWorker<Load>('load/main.ts');
  const baseline = startWorker<ChannelsBaseline>('baselines/channels.ts');
  try {
    await putEndpoints(world);
    const grpc = await baseline.call('start', {});
    const ours: ChannelTarget = {
      origin: world.stack.apiUrl,
      token: await world.api.token(),
      applicationId: world.applicationId,
    };
    const { seconds } = settings;
    const ask = (target: ChannelTarget) => () =>
      load.call('channels', { target, soraVersion, callers, seconds });
    const runs = await interleave(settings.runs, { baseline: ask({ grpc }), ours: ask(ours) });
    const at = (share: number) => ({
      baseline: runs.baseline.map((times) => percentile(times, share)),
      ours: runs.ours.map((times) => percentile(times, share)),
    });
    const rate = runs.ours.map((times) => Math.round(times.length / seconds)).join(', ');
    return {
      figures: [
        figure(`channels p50, ${callers} callers`, 'ms', undefined, at(0.5)),
        figure(`channels p99, ${callers} callers`, 'ms', { atMost: 10 }, at(0.99)),
      ],
      notes: [
        `channels: ${endpoints} endpoints, reservations of ${reservationMs} ms that nobody joins; ${rate} channels/s.`,
      ],
    };
  } finally {
    await Promise.all([load.stop(), baseline.stop()]);
    await world.close();
  }
}

async function putEndpoints(world: World): Promise<void> {
  for (let i = 0; i < endpoints; i++) {
    await world.admin.communication.putEndpoint({
      endpoint: {
        endpointId: `sora-${i}`,
        signalingUrl: `wss://sora-${i}.example.com/signaling`,
        soraVersion,
        connectionLimit: 10_000,
        archiveUrl: '',
        webhookSecret: randomBytes(24).toString('base64url'),
      },
    });
  }
}
