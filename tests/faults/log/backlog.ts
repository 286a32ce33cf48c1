import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { act } from '../headsets.ts';
import { staying } from '../load/target.ts';
import type { World } from '../world.ts';

/** One integrator's server fails everything for a while, in which its headsets report a lot. */
export async function swamp(
  { tenants, failing, headsetsOf }: World,
  { tenant, reports, forMs }: Extract<Fault, { kind: 'backlog' }>,
): Promise<{ applicationId: string }> {
  const target = tenants[tenant];
  if (!target) throw new Error(`no integrator ${tenant}`);
  const { applicationId, said } = target;
  const devices = staying(target.devices);
  const operationId = 'notify-custom-data';
  failing.add(applicationId);
  const over = delay(forMs);
  for (let i = 0; i < reports; i++) {
    const deviceId = devices[i % devices.length] as string;
    const value = `backlog ${said.nextNumber()}`;
    const customData = { success: true, customData: value };
    const atMs = Date.now();
    const taken = await act(headsetsOf(deviceId), deviceId, { action: 'report', customData });
    said.reports.push({ applicationId, deviceId, operationId, value, taken, atMs });
  }
  await over;
  failing.delete(applicationId);
  return { applicationId };
}
