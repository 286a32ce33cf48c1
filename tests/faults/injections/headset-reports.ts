import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { act, type HeadsetProcess } from '../headsets.ts';
import { operate } from '../load/operations.ts';
import { staying } from '../load/target.ts';
import { createRandom } from '../random.ts';
import type { Tenant, World } from '../world.ts';

/** Integrators' servers fail for this long after headsets reconnect from days offline; milliseconds. */
const failAfterReturnMs = 1500;
const reportsOfAbsent = 2;

/** One integrator's server fails every callback for some time while its headsets send many reports. */
export async function causeBacklog(
  world: World,
  { tenant, reports, forMs }: Extract<Fault, { kind: 'backlog' }>,
): Promise<{ applicationId: string }> {
  const target = world.tenants[tenant];
  if (!target) throw new Error(`no integrator ${tenant}`);
  const { applicationId } = target;
  const devices = staying(target.devices);
  world.failing.add(applicationId);
  const untilMs = performance.now() + forMs;
  // A busy machine sends fewer reports in this time.
  for (let i = 0; i < reports && performance.now() < untilMs; i++) {
    await sendReport(world, target, devices[i % devices.length] as string);
  }
  await delay(Math.max(0, untilMs - performance.now()));
  world.failing.delete(applicationId);
  return { applicationId };
}

/**
 * Simulates days offline for the headsets of a process in a short time. The headsets begin commands, their clocks are
 * set back, and they create reports without a connection. Then they reconnect while the integrators' servers fail for a
 * short time.
 */
export async function simulateAbsence(
  world: World,
  headsets: HeadsetProcess,
  { stepMs, forMs }: Extract<Fault, { kind: 'absence' }>,
): Promise<void> {
  const line = world.network.lines.get(`${headsets.process.name}>device-link`);
  const own = world.tenants.flatMap((tenant) =>
    staying(tenant.devices)
      .filter((id) => headsets.devices.some((d) => d.deviceId === id))
      .map((deviceId) => ({ tenant, deviceId })),
  );
  for (const { applicationId } of world.tenants) world.failing.add(applicationId);
  await skew(headsets, stepMs);
  const random = createRandom(stepMs, 'absence');
  const commands = own.map(({ tenant, deviceId }) => operate(tenant.client, deviceId, 'command', random));
  await Promise.race([Promise.all(commands), delay(forMs)]);
  line?.set({ kind: 'dropped' });
  const over = delay(forMs);
  for (const { tenant, deviceId } of own) {
    for (let i = 0; i < reportsOfAbsent; i++) await sendReport(world, tenant, deviceId);
  }
  await over;
  await skew(headsets, 0);
  line?.set({ kind: 'open' });
  await delay(failAfterReturnMs);
  world.failing.clear();
  await Promise.all(commands);
}

/** Sets the clock offset of all headsets of a process. */
export async function skew(headsets: HeadsetProcess, skewMs: number): Promise<void> {
  await Promise.all(
    headsets.devices.map((d) => act(headsets, d.deviceId, { action: 'set', behaviour: { skewMs } })),
  );
}

async function sendReport(
  { headsetsOf }: World,
  { applicationId, loadRecord }: Tenant,
  deviceId: string,
): Promise<void> {
  const operationId = 'notify-custom-data';
  const value = `number ${loadRecord.nextNumber()}`;
  const atMs = Date.now();
  const report = { action: 'report', customData: { success: true, customData: value } };
  const taken = await act(headsetsOf(deviceId), deviceId, report);
  loadRecord.reports.push({ applicationId, deviceId, operationId, value, taken, atMs });
}
