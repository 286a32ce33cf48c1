import type { CallRecord, Evidence } from '../evidence.ts';
import type { Check } from './check.ts';

/** Acknowledged changes are in force: settings, activations and the slots that they use. */
export function judgeStanding(evidence: Evidence): Check[] {
  return [
    { name: 'no acknowledged setting is lost', violations: settingsKept(evidence) },
    { name: 'the slots in use match the activated devices', violations: slotsMatch(evidence) },
    {
      name: 'the last acknowledged activation or deactivation is in force',
      violations: activationsStand(evidence),
    },
  ];
}

function settingsKept({ calls, settings }: Evidence): string[] {
  const last = new Map<string, CallRecord>();
  for (const c of [...calls].sort((a, b) => a.order - b.order)) {
    if (c.setting && c.status === 200) last.set(`${c.applicationId} ${c.setting.field}`, c);
  }
  const final = new Map(settings.map((s) => [`${s.applicationId} ${s.field}`, s.value]));
  return [...last].flatMap(([name, c]) => {
    const value = final.get(name) ?? null;
    return value === c.setting?.value
      ? []
      : [`${name} is ${value}, but the acknowledged value was ${c.setting?.value}`];
  });
}

function slotsMatch({ applications }: Evidence): string[] {
  return applications
    .filter((a) => a.slots !== a.activatedDevices.length)
    .map((a) => `${a.applicationId}: ${a.slots} slots, ${a.activatedDevices.length} devices activated`);
}

function activationsStand({ calls, applications }: Evidence): string[] {
  const standing = new Map<string, boolean>();
  for (const c of [...calls].sort((a, b) => a.order - b.order)) {
    if (c.status !== 201 || !c.deviceId) continue;
    if (c.kind === 'activate') standing.set(nameOf(c), true);
    if (c.kind === 'deactivate') standing.set(nameOf(c), false);
  }
  return applications.flatMap((a) =>
    a.devices.flatMap((deviceId) => {
      const is = a.activatedDevices.includes(deviceId);
      const acknowledged = standing.get(nameOf({ ...a, deviceId })) ?? false;
      return is === acknowledged
        ? []
        : [`${deviceId} is ${is ? '' : 'not '}activated, but the opposite was acknowledged`];
    }),
  );
}

function nameOf({ applicationId, deviceId }: { applicationId: string; deviceId?: string }): string {
  return `${applicationId} ${deviceId}`;
}
