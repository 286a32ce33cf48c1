import type { CallRecord, Evidence } from '../evidence.ts';
import { Activations } from './activations.ts';
import type { Check } from './check.ts';
import type { IndexedEvidence } from './indexed-evidence.ts';

/** Acknowledged changes are in force: settings, activations, and the slots of activations. */
export function verifyAcknowledged(c: IndexedEvidence): Check[] {
  const { evidence } = c;
  return [
    { name: 'no acknowledged setting is lost', violations: settingsKept(evidence) },
    { name: 'the slots in use match the activated devices', violations: slotsMatch(evidence) },
    {
      name: 'the last acknowledged activation or deactivation is in force',
      violations: activationsStand(c),
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

function activationsStand(c: IndexedEvidence): string[] {
  const { calls, applications } = c.evidence;
  const activations = new Activations(c);
  for (const call of [...calls].sort((a, b) => a.order - b.order)) activations.add(call);
  return applications.flatMap((a) =>
    a.devices.flatMap((deviceId) => {
      const is = a.activatedDevices.includes(deviceId);
      return is === activations.stand(a.applicationId, deviceId)
        ? []
        : [`${deviceId} is ${is ? '' : 'not '}activated, but the opposite was acknowledged`];
    }),
  );
}
