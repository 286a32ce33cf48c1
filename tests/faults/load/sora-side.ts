import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { archiveBytes } from '@headset-cloud/demo/sora/archives.ts';
import type { SimulatedConnection, SimulatedRecording, Webhook } from '@headset-cloud/demo/sora/simulator.ts';
import type { RecordedFile } from '../evidence.ts';
import type { Random } from '../random.ts';
import { type Draw, type LoadTarget, type Loop, staying } from './target.ts';

/** The minimum part size of S3, and therefore of the platform. */
export const partBytes = 5 * 1024 * 1024;
/** Size of the simulator's own files (services/demo/src/sora/simulator.ts). */
const bytes = { json: 300, meta: 700 };

/** Holds meetings and records some of them. */
export function soraLoops(target: LoadTarget, pauseMs: number, draw: Draw): Loop[] {
  const meetings =
    (r: Random): Loop =>
    async (running) => {
      while (running()) {
        const connection = await meet(target, r);
        if (connection && r.chance(0.25)) await record(target, connection, r);
        await delay(r.between(pauseMs, 6 * pauseMs));
      }
    };
  return [meetings(draw('meetings'))];
}

/**
 * Holds a meeting with one connection on a channel. Returns the connection; undefined if a webhook was not accepted.
 */
async function meet(target: LoadTarget, r: Random): Promise<SimulatedConnection | undefined> {
  const { applicationId, client, sora, loadRecord } = target;
  const { body } = await client.ask({ kind: 'channel', method: 'POST', path: '/channels', body: {} });
  if (!body?.channelId) return undefined;
  const deviceId = r.chance(0.7) ? r.pick(staying(target.devices)) : '';
  const durationMs = loadRecord.meetingDuration(r);
  const endedAtMs = Date.now();
  const startedAtMs = endedAtMs - durationMs;
  const connection = sora.join(body.channelId, deviceId ? { deviceId } : undefined, startedAtMs);
  const hooks = [sora.created(connection), sora.destroyed(connection, endedAtMs)];
  if (r.chance(0.15)) hooks.reverse();
  const taken = await sendWebhooks(target, connection, hooks, r);
  loadRecord.spent.push({ applicationId, deviceId, kind: 'video', durationMs, taken });
  return taken ? connection : undefined;
}

async function record(target: LoadTarget, connection: SimulatedConnection, r: Random): Promise<void> {
  const { applicationId, sora, loadRecord } = target;
  const webmBytes = r.chance(0.4) ? r.between(partBytes, 3 * partBytes) : r.between(1, 20_000);
  const recording = sora.record([connection], { webmBytes });
  if (!(await sendWebhooks(target, connection, recording.webhooks, r))) return;
  const { reportFile, jsonFiles, webmFiles } = recording;
  loadRecord.recordings.push({
    applicationId,
    channelId: connection.channelId,
    metaFile: recorded(reportFile, bytes.meta, bytes.meta),
    jsonFile: recorded(jsonFiles[0] ?? '', bytes.json, bytes.json),
    webmFile: recorded(webmFiles[0] ?? '', webmBytes, partBytes),
  });
}

function recorded(file: string, size: number, part: number): RecordedFile {
  const parts: string[] = [];
  for (let from = 0; from < size; from += part) {
    const content = archiveBytes(file, from, Math.min(part, size - from));
    parts.push(createHash('sha256').update(content).digest('hex'));
  }
  return { file, parts };
}

/** Sends each webhook until it is accepted, and some webhooks once more. Returns false if the load ends before. */
async function sendWebhooks(
  target: LoadTarget,
  connection: SimulatedConnection,
  hooks: readonly Webhook[] | SimulatedRecording['webhooks'],
  r: Random,
): Promise<boolean> {
  const { applicationId, loadRecord } = target;
  const { channelId, connectionId, metadata } = connection;
  const deviceId = String(metadata?.['deviceId'] ?? '');
  for (const hook of hooks) {
    if (!(await untilAccepted(target, hook))) return false;
    if (r.chance(0.2)) await hook.send().catch(() => 0);
    const event = String(hook.body['type']);
    // Integrators do not get recording.report.
    if (event === 'recording.report') continue;
    loadRecord.soraEvents.push({ applicationId, deviceId, event, channelId, connectionId });
  }
  return true;
}

async function untilAccepted({ client }: LoadTarget, hook: Webhook): Promise<boolean> {
  while (!client.givenUp) {
    if ((await hook.send().catch(() => 0)) === 200) return true;
    await delay(200);
  }
  return false;
}
