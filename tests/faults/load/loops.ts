import { setTimeout as delay } from 'node:timers/promises';
import { act, sendAway } from '../headsets.ts';
import type { Random } from '../random.ts';
import { headsetLoops } from './headset-side.ts';
import type { IntegratorClient } from './integrator-client.ts';
import { anyKind, operate } from './operations.ts';
import { soraLoops } from './sora-side.ts';
import { cycling, type Draw, type LoadOptions, type LoadTarget, type Loop, rest } from './target.ts';
import { updateLoops } from './updates.ts';

const settingFields = ['remoteSupportEvent', 'soraRecGetPresignedUrl'];

/** All loops of one integrator: operations, activations, settings, headsets, meetings and packages. */
export function loops(target: LoadTarget, options: LoadOptions, random: Draw): Loop[] {
  const { client, devices } = target;
  const pause = (r: Random) => delay(r.between(options.pauseMs / 4, options.pauseMs));
  const commander =
    (r: Random): Loop =>
    async (running) => {
      while (running()) {
        const { deviceId } = r.pick(devices);
        const turn = r.next();
        if (turn < options.cancelAwayShare) await cancelWhileAway(target, deviceId, r);
        else if (turn < options.cancelAwayShare + 0.05) await cancel(client, deviceId);
        else if (turn < options.cancelAwayShare + 0.08) {
          await sendAway(target.headsetsOf(deviceId), deviceId, r.between(100, 1500));
        } else if (turn < options.cancelAwayShare + 0.08 + options.pairShare)
          await twoAtOnce(target, deviceId, r);
        else await operate(client, deviceId, anyKind(r), r);
        await pause(r);
      }
    };
  return [
    ...Array.from({ length: options.commanders }, (_, i) => commander(random(`commander ${i}`))),
    ...standingLoops(target, options.pauseMs, random),
    ...headsetLoops(target, options.pauseMs, random),
    ...soraLoops(target, options.pauseMs, random),
    ...updateLoops(target, options.pauseMs, random),
    target.feed.follow(random('feed'), options.pauseMs),
  ];
}

/** Loops that change activations and settings. */
export function standingLoops({ client, devices }: LoadTarget, pauseMs: number, random: Draw): Loop[] {
  const pause = (r: Random, running: () => boolean) => rest(r.between(pauseMs / 4, pauseMs), running);
  // Only this loop changes the device's activation, so the last acknowledged change must be in force.
  const cycle =
    (deviceId: string, r: Random): Loop =>
    async (running) => {
      while (running()) {
        await activate(client, deviceId, r.between(1, 1e9));
        await pause(r, running);
        if (r.chance(0.3)) await activate(client, deviceId, r.between(1, 1e9));
        await operate(client, deviceId, 'command', r);
        await pause(r, running);
        if (r.chance(0.5)) {
          await operate(client, deviceId, 'reset', r);
          await operate(client, deviceId, 'command', r);
        }
        if (running()) await deactivate(client, deviceId);
        await pause(r, running);
      }
    };
  const settings =
    (field: string, r: Random): Loop =>
    async (running) => {
      for (let i = 1; running(); i++) {
        const value = `https://example.com/${field}/${i}`;
        const body = { [field]: value };
        await client.call({ kind: 'settings', method: 'PATCH', path: '', body, setting: { field, value } });
        await rest(r.between(pauseMs, 3 * pauseMs), running);
      }
    };
  return [
    ...devices.slice(0, cycling).map(({ deviceId }, i) => cycle(deviceId, random(`cycle ${i}`))),
    ...settingFields.map((field) => settings(field, random(field))),
  ];
}

export function activate(client: IntegratorClient, deviceId: string, app: number) {
  const body = { clientId: `app-${deviceId}-${app}` };
  return client.call({ kind: 'activate', method: 'POST', path: `/devices/${deviceId}`, body, deviceId });
}

export function deactivate(client: IntegratorClient, deviceId: string) {
  return client.call({ kind: 'deactivate', method: 'DELETE', path: `/devices/${deviceId}`, deviceId });
}

function cancel(client: IntegratorClient, deviceId: string) {
  const path = `/devices/${deviceId}/transactions`;
  return client.call({ kind: 'cancel', method: 'DELETE', path, deviceId });
}

/** Sends two equal operations at once to one headset, and cuts its connection while they run. */
async function twoAtOnce(target: LoadTarget, deviceId: string, r: Random): Promise<void> {
  const kind = r.chance(0.7) ? 'command' : anyKind(r);
  const both = [operate(target.client, deviceId, kind, r), operate(target.client, deviceId, kind, r)];
  await delay(r.between(0, 60));
  await act(target.headsetsOf(deviceId), deviceId, { action: 'disconnect' });
  await Promise.all(both);
}

/** Disconnects the headset while a command is sent or runs, then cancels the command (rule B1). */
async function cancelWhileAway(target: LoadTarget, deviceId: string, r: Random): Promise<void> {
  await operate(target.client, deviceId, r.chance(0.7) ? 'command' : anyKind(r), r);
  await delay(r.between(0, 30));
  await sendAway(target.headsetsOf(deviceId), deviceId, r.between(200, 700));
  await delay(r.between(0, 20));
  await cancel(target.client, deviceId);
}
