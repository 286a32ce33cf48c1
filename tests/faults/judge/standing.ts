import type { CallRecord, Evidence } from '../evidence.ts';
import type { Check } from './check.ts';

/** What was acknowledged stands: settings, activations and the slots they take. */
export function judgeStanding(evidence: Evidence): Check[] {
  return [
    { name: 'no acknowledged setting is lost', violations: settingsKept(evidence) },
    { name: 'the slots in use are the devices activated', violations: slotsMatch(evidence) },
    { name: 'activations stand as acknowledged', violations: activationsStand(evidence) },
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
    return value === c.setting?.value ? [] : [`${name} is ${value}, acknowledged was ${c.setting?.value}`];
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
        : [`${deviceId} is ${is ? '' : 'not '}activated, acknowledged was the contrary`];
    }),
  );
}

function nameOf({ applicationId, deviceId }: { applicationId: string; deviceId?: string }): string {
  return `${applicationId} ${deviceId}`;
}
