import { setTimeout as delay } from 'node:timers/promises';
import { act } from '../headsets.ts';
import { activate, deactivate } from './loops.ts';
import type { Draw, LoadTarget, Loop } from './target.ts';

const readsEach = 4;

/**
 * Hands over one headset between two customers, back and forth. Each customer reads the device's status and requests a
 * location report.
 */
export function handoverLoop(targets: readonly LoadTarget[], deviceId: string, draw: Draw): Loop {
  const r = draw('handover');
  return async (running) => {
    while (running()) {
      for (const target of targets) {
        const activatedAtMs = Date.now();
        const { status } = await activate(target.client, deviceId, r.between(1, 1e9));
        if (status !== 201) continue;
        for (let i = 0; i < readsEach; i++) {
          await read(target, deviceId, activatedAtMs);
          if (i === 1) await reportPlace(targets, target, deviceId);
          await delay(r.between(20, 200));
        }
        await deactivate(target.client, deviceId);
      }
    }
  };
}

async function read({ applicationId, api, loadRecord }: LoadTarget, deviceId: string, activatedAtMs: number) {
  const answer = await api.app('GET', `/devices/${deviceId}/status`).catch(() => undefined);
  if (answer?.status !== 200) return;
  const { latitude, longitude, locationUpdateDate } = answer.body;
  const known = typeof latitude === 'number';
  loadRecord.readings.push({
    ...{ applicationId, deviceId, activatedAtMs, readAtMs: Date.now() },
    location: known ? `${latitude} ${longitude}` : undefined,
    updatedAtMs: locationUpdateDate ? Date.parse(locationUpdateDate) : undefined,
  });
}

/** The headset determines the application of the report, because it may not know the new activation yet. */
async function reportPlace(
  targets: readonly LoadTarget[],
  { loadRecord, headsetsOf }: LoadTarget,
  deviceId: string,
): Promise<void> {
  const location = {
    latitude: loadRecord.nextNumber() / 1000,
    longitude: 100 + targets.findIndex((t) => t.loadRecord === loadRecord),
  };
  const value = `${location.latitude} ${location.longitude}`;
  const atMs = Date.now();
  await act(headsetsOf(deviceId), deviceId, { action: 'report', stateChange: { location } });
  for (const target of targets) {
    const { applicationId } = target;
    const operationId = 'notify-location';
    target.loadRecord.reports.push({ applicationId, deviceId, operationId, value, taken: false, atMs });
  }
}
