import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { act, type HeadsetProcess } from '../headsets.ts';
import { staying } from '../load/target.ts';
import type { Tenant, World } from '../world.ts';

/** How long the integrators' servers fail after headsets came back from days offline; milliseconds. */
const failAfterReturnMs = 1500;
const reportsOfAbsent = 2;

/** One integrator's server fails everything for a while, in which its headsets report a lot. */
export async function swamp(
  world: World,
  { tenant, reports, forMs }: Extract<Fault, { kind: 'backlog' }>,
): Promise<{ applicationId: string }> {
  const target = world.tenants[tenant];
  if (!target) throw new Error(`no integrator ${tenant}`);
  const { applicationId } = target;
  const devices = staying(target.devices);
  world.failing.add(applicationId);
  const over = delay(forMs);
  for (let i = 0; i < reports; i++) await say(world, target, devices[i % devices.length] as string);
  await over;
  world.failing.delete(applicationId);
  return { applicationId };
}

/**
 * A process' headsets are offline for days, compressed: their line is down and their clocks are behind while
 * they report; then they come back, to integrators whose servers fail for a moment.
 */
export async function beAbsent(
  world: World,
  headsets: HeadsetProcess,
  { stepMs, forMs }: Extract<Fault, { kind: 'absence' }>,
): Promise<void> {
  const line = world.network.lines.get(`${headsets.process.name}>device-link`);
  const own = new Set(headsets.devices.map((d) => d.deviceId));
  line?.set({ kind: 'dropped' });
  await skew(headsets, stepMs);
  const over = delay(forMs);
  for (const tenant of world.tenants) {
    for (const deviceId of staying(tenant.devices).filter((id) => own.has(id))) {
      for (let i = 0; i < reportsOfAbsent; i++) await say(world, tenant, deviceId);
    }
  }
  await over;
  await skew(headsets, 0);
  for (const { applicationId } of world.tenants) world.failing.add(applicationId);
  line?.set({ kind: 'open' });
  await delay(failAfterReturnMs);
  world.failing.clear();
}

/** From now on the clocks of a process' headsets are off by so much. */
export async function skew(headsets: HeadsetProcess, skewMs: number): Promise<void> {
  await Promise.all(
    headsets.devices.map((d) => act(headsets, d.deviceId, { action: 'set', behaviour: { skewMs } })),
  );
}

async function say({ headsetsOf }: World, { applicationId, said }: Tenant, deviceId: string): Promise<void> {
  const operationId = 'notify-custom-data';
  const value = `number ${said.nextNumber()}`;
  const atMs = Date.now();
  const report = { action: 'report', customData: { success: true, customData: value } };
  const taken = await act(headsetsOf(deviceId), deviceId, report);
  said.reports.push({ applicationId, deviceId, operationId, value, taken, atMs });
}
