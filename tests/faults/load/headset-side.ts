import { createHash } from 'node:crypto';
import { generatedBytes } from '@headset-cloud/demo/headset/uploads.ts';
import { act } from '../headsets.ts';
import type { Random } from '../random.ts';
import { type LoadTarget, type Loop, rest, staying } from './target.ts';

/** Headsets' own reports, uploads and usage, on devices that stay activated. */
export function headsetLoops(target: LoadTarget, pauseMs: number, draw: (name: string) => Random): Loop[] {
  const again =
    (each: number, turn: (r: Random, n: number) => Promise<void>, r: Random): Loop =>
    async (running) => {
      for (let n = 1; running(); n++) {
        await turn(r, n);
        await rest(r.between(each / 4, each), running);
      }
    };
  return [
    again(12 * pauseMs, (r, n) => report(target, r, n), draw('reports')),
    again(16 * pauseMs, (r, n) => upload(target, r, n), draw('uploads')),
    again(16 * pauseMs, (r) => speak(target, r), draw('speech')),
  ];
}

/** Types of reports, each with the operationId and the value of the integrator's notification. */
const kinds: readonly ((n: number, r: Random) => readonly [string, string, Record<string, unknown>])[] = [
  (n) => ['notify-custom-data', `data ${n}`, { customData: { success: true, customData: `data ${n}` } }],
  (n) => ['notify-app-status', `app ${n}`, { appStatus: { status: 'started', text: `app ${n}` } }],
  (n) => {
    const location = { latitude: n / 1000, longitude: 139.5 };
    return ['notify-location', `${n / 1000} 139.5`, { stateChange: { location } }];
  },
  (n) => {
    const bluetoothConnection = { statusCode: 200, message: `pairing ${n}`, devices: [] };
    return ['notify-bluetooth-connection', `pairing ${n}`, { bluetoothConnection }];
  },
  (_, r) => {
    const batteryPercentage = r.between(0, 100);
    const operationId = 'notify-battery-percentage-changed';
    return [operationId, String(batteryPercentage), { stateChange: { batteryPercentage } }];
  },
];

async function report(target: LoadTarget, r: Random, n: number): Promise<void> {
  const { applicationId, loadRecord, devices } = target;
  const deviceId = r.pick(staying(devices));
  const [operationId, value, body] = r.pick(kinds)(n, r);
  const atMs = Date.now();
  const taken = await act(target.headsetsOf(deviceId), deviceId, { action: 'report', ...body });
  loadRecord.reports.push({ applicationId, deviceId, operationId, value, taken, atMs });
}

async function upload(target: LoadTarget, r: Random, n: number): Promise<void> {
  const { applicationId, loadRecord, devices } = target;
  const deviceId = r.pick(staying(devices));
  const file = `${applicationId}/${deviceId}/upload_files/logs/${n}.txt`;
  const sizeBytes = r.between(1, 20_000);
  const sha256 = createHash('sha256').update(generatedBytes(sizeBytes)).digest('hex');
  const taken = await act(target.headsetsOf(deviceId), deviceId, { action: 'upload', file, sizeBytes });
  loadRecord.uploads.push({ applicationId, deviceId, file, sha256, taken });
}

async function speak(target: LoadTarget, r: Random): Promise<void> {
  const { applicationId, loadRecord, devices } = target;
  const deviceId = r.pick(staying(devices));
  const durationMs = loadRecord.duration(r);
  // The start may be before the activation. The cloud replaces such a start and keeps the duration (rule A24).
  const startedAtMs = String(Date.now() - durationMs);
  const speechUsage = { startedAtMs, durationMs: String(durationMs) };
  const taken = await act(target.headsetsOf(deviceId), deviceId, { action: 'report', speechUsage });
  loadRecord.spent.push({ applicationId, deviceId, kind: 'speech', durationMs, taken });
}
