import { parseCrashPoint } from '@headset-cloud/process/testing/crash-points.ts';
import { partitionsOf, servicesOf } from './callers.ts';
import { groups } from './groups.ts';
import type { Targets } from './schedule.ts';
import { longestLeaseMs, type World } from './world.ts';

/**
 * Writes of the services under the load (names: services/kit/process/src/testing/crash-points.ts). The number is the
 * highest count of this write at which a process dies; the load reaches it within a few seconds.
 */
const writes: Readonly<Record<string, number>> = {
  'store devices.devices.activation': 3,
  'store devices.devices.pending': 5,
  'store devices.devices.reported': 3,
  'store devices.applications.audit': 3,
  'store devices.idempotency': 5,
  'rpc devices.CreateTransaction': 5,
  'log devices.device-lifecycle': 2,
  'log devices.notifications': 2,
  'store transactions.heads': 5,
  'store transactions.transactions.createdAt': 5,
  'store transactions.transactions.outboxSeq': 10,
  'store transactions.transactions.end': 5,
  'store transactions.transactions.reportId': 3,
  'store transactions.transactions.cancelStamp': 2,
  'store transactions.transactions.bulkWrite': 5,
  'rpc transactions.Deliver': 5,
  'rpc transactions.UndoActivation': 1,
  'log transactions.notifications': 5,
  'store device-link.sessions.findOneAndUpdate': 2,
  'store device-link.sessions.bulkWrite': 1,
  'rpc device-link.HeadsetOnline': 3,
  'rpc device-link.Accept': 5,
  'log device-link.transaction-reports': 5,
  'log device-link.device-reports': 5,
  'rpc notifier.GetDestination': 3,
  'store notifier.deliveries.insertMany': 3,
  'store notifier.deliveries.bulkWrite': 2,
  'store notifier.deliveries.updateMany': 1,
  'store notifier.feed_partitions': 2,
  'store updates.uploadPlaces': 1,
  'store updates.uploads.findOneAndUpdate': 1,
  'store updates.uploads.updateOne': 2,
  'store updates.artifacts': 2,
  'rpc updates.SendOperation': 1,
  'store communication.endpoints.places': 2,
  'store communication.channels': 2,
  'store communication.events': 3,
  'store communication.connections': 2,
  'store communication.recordings.files': 6,
  'store communication.recordings.owed': 2,
  'log communication.notifications': 1,
  'store billing.usage': 2,
  'store billing.sheets': 1,
  'store billing.lifecycle': 2,
  'store billing.records': 2,
};

/** The available targets of faults in a running world. */
export function targetsOf({ stack, headsets, network, tenants }: World): Targets {
  const { backing, processes } = stack;
  const names = Object.keys(processes);
  const lines = [...network.lines.keys()];
  const behind = headsets.map((h) => h.process.name);
  return {
    processes: names,
    services: servicesOf(names),
    lines: lines.filter(
      (line) => /.>(mongo|kafka)/.test(line) || behind.some((name) => line.startsWith(`${name}>`)),
    ),
    partitions: partitionsOf(names, new Set(lines)),
    groups: backing?.kafka ? groups : [],
    tenants: tenants.length,
    headsets: headsets.map((h) => h.process.name),
    writes: Object.entries(writes).map(([name, most]) => ({
      process: processOf(name, processes),
      name,
      most,
    })),
    backing: [
      ...(backing?.mongo ? (['mongo'] as const) : []),
      ...(backing?.kafka ? (['kafka'] as const) : []),
      ...(backing?.s3 ? (['s3'] as const) : []),
    ],
    leaseMs: longestLeaseMs,
  };
}

/** Returns the process that makes a write. The embedded stack has one process. */
function processOf(write: string, processes: Readonly<Record<string, unknown>>): string {
  const { service } = parseCrashPoint(`after ${write}`);
  return service in processes ? service : 'platform';
}
