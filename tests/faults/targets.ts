import { billingFailpoints } from '@headset-cloud/billing/failpoints.ts';
import { communicationFailpoints } from '@headset-cloud/communication/failpoints.ts';
import { connectivityFailpoints } from '@headset-cloud/connectivity/failpoints.ts';
import { deviceLinkFailpoints } from '@headset-cloud/device-link/failpoints.ts';
import { devicesFailpoints } from '@headset-cloud/devices/failpoints.ts';
import { notifierFailpoints } from '@headset-cloud/notifier/failpoints.ts';
import { transactionsFailpoints } from '@headset-cloud/transactions/failpoints.ts';
import { updatesFailpoints } from '@headset-cloud/updates/failpoints.ts';
import { partitionsOf, servicesOf } from './callers.ts';
import { groups } from './groups.ts';
import type { Targets } from './schedule.ts';
import { longestLeaseMs, type World } from './world.ts';

/** All steps between two writes that a service names. */
export const allFailpoints: readonly string[] = [
  ...devicesFailpoints,
  ...transactionsFailpoints,
  ...deviceLinkFailpoints,
  ...notifierFailpoints,
  ...connectivityFailpoints,
  ...updatesFailpoints,
  ...communicationFailpoints,
  ...billingFailpoints,
];

/** Steps that the load reaches rarely, so that waiting for the third time would take too long. */
const rare = /^(updates|communication|devices\.(reset|returning|given-back|released|settled))/;

/** Steps that the load does not reach: it has no recovery, and no outage of an hour. The notifier's own tests die there. */
const elsewhere = /^notifier\.(recovered|outage|owed|noticed|unmarked|settled)$/;

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
    failpoints: allFailpoints
      .filter((name) => !elsewhere.test(name))
      .map((name) => ({
        name,
        process: processOf(name, processes),
        rare: rare.test(name),
      })),
    backing: [
      ...(backing?.mongo ? (['mongo'] as const) : []),
      ...(backing?.kafka ? (['kafka'] as const) : []),
      ...(backing?.s3 ? (['s3'] as const) : []),
    ],
    leaseMs: longestLeaseMs,
  };
}

/** The process of a failpoint, which is named after its service; the embedded stack has one process. */
function processOf(failpoint: string, processes: Readonly<Record<string, unknown>>): string {
  const service = failpoint.split('.')[0] as string;
  return service in processes ? service : 'platform';
}
