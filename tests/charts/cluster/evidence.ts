import { createHash } from 'node:crypto';
import type { Evidence, FinalSetting, ListedTransaction } from '../../faults/evidence.ts';
import {
  deadDeliveries,
  deliverablePackages,
  impatient,
  listed,
  triedBefore,
  unknownCallbacks,
} from '../../faults/gather.ts';
import { gatherBills, gatherUsage } from '../../faults/gather-usage.ts';
import { effectsIn } from '../../faults/headsets.ts';
import { staying } from '../../faults/load/target.ts';
import type { Integrators } from './integrators.ts';
import type { Listeners } from './platform.ts';
import type { Ended } from './pods.ts';

/** The data for the checks of the crash test, for a run without Sora. */
export async function gatherEvidence(options: {
  readonly integrators: Integrators;
  readonly listeners: Listeners;
  readonly dataDir: string;
  readonly unfinished: readonly string[];
  /** When the load began and ended; milliseconds since 1970. */
  readonly load: { readonly fromMs: number; readonly toMs: number };
  readonly ended: readonly Ended[];
}): Promise<Evidence> {
  const { integrators, listeners, load, ended } = options;
  const { tenants, integrator, headsets, files } = integrators;
  const { admin } = listeners;
  const transactions: ListedTransaction[] = [];
  const settings: FinalSetting[] = [];
  const applications: Evidence['applications'][number][] = [];
  for (const tenant of tenants) {
    const { applicationId } = tenant;
    transactions.push(...(await listed(tenant)));
    const { body } = await tenant.api.app('GET', '');
    for (const [field, value] of Object.entries(body)) {
      settings.push({ applicationId, field, value: value as string | null });
    }
    const { contract } = await admin.devices.getContract({ applicationId });
    const devices = tenant.devices.map(({ deviceId }) => deviceId);
    const found = await Promise.all(devices.map((deviceId) => admin.devices.getDevice({ deviceId })));
    const activatedDevices = found.flatMap(({ device }) => (device?.activated ? [device.deviceId] : []));
    applications.push({ applicationId, slots: contract?.activated ?? -1, activatedDevices, devices });
  }
  const arrivals = integrator.arrivals.map(({ webhookId, receivedAt, verified, body }) => ({
    ...{ webhookId, verified, body, atMs: Date.parse(receivedAt) },
  }));
  const lists = await Promise.all(
    admin.deadLetters.map((one) => one.listDeadLetters({ limit: 1000, ended: true })),
  );
  return {
    calls: tenants.flatMap((t) => t.client.calls),
    transactions,
    arrivals,
    effects: effectsIn(options.dataDir),
    reports: tenants.flatMap((t) => t.loadRecord.reports),
    uploads: tenants.flatMap((t) => t.loadRecord.uploads),
    storedFiles: [...files.files].map(([file, content]) => ({
      file,
      sha256: createHash('sha256').update(content).digest('hex'),
    })),
    spent: tenants.flatMap((t) => t.loadRecord.spent),
    recorded: (await Promise.all(tenants.map((t) => gatherUsage(admin, t)))).flat(),
    bills: (await Promise.all(tenants.map(gatherBills))).flat(),
    settings,
    applications,
    packages: tenants.flatMap((t) => t.loadRecord.packages),
    deliverable: (await Promise.all(tenants.map(deliverablePackages))).flat(),
    alwaysActivated: tenants.flatMap((t) => staying(t.devices)),
    answeringDevices: headsets[1]?.devices.map(({ deviceId }) => deviceId) ?? [],
    serverErrors: tenants.flatMap((t) => t.client.errors),
    // No restart excuses an error other than 503.
    restarts: [load],
    terminations: ended
      .filter(({ requested }) => requested)
      .map(({ pod, how, atMs }) => ({ process: pod, how, atMs, tookMs: 0 })),
    unexpectedExits: ended
      .filter(({ requested }) => !requested)
      .map(({ pod, how }) => `${pod} ended with ${how}`),
    triedBefore: await triedBefore(admin, arrivals),
    impatient: await impatient(admin, arrivals),
    deadDeliveries: await deadDeliveries(admin),
    unknownCallbacks: await unknownCallbacks(admin, arrivals),
    unfinished: options.unfinished,
    deadLetters: lists
      .flatMap(({ deadLetters }) => deadLetters)
      .map(({ topic, position, group, error }) => ({ position: `${topic}/${position}`, group, error })),
    // Without Sora and without clock errors.
    ...{ soraEvents: [], recordings: [], storedParts: [], puts: [], interruptions: [], lapsedUploads: [] },
    // No reader of the feeds.
    ...{ feeds: [], notDelivered: [] },
    ...{ wrongClocks: [], otherClocks: [], poison: [], backlogs: [], readings: [] },
  };
}
