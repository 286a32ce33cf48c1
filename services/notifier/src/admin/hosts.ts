import { withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { type Delivery, laneOf } from '../domain/delivery.ts';
import type { Destinations } from '../ports/destinations.ts';

/** Longest wait for devices; milliseconds. Without an answer of devices the deliveries have no hosts. */
const longestWaitMs = 2000;

/** Returns the host to which a delivery will be sent; undefined if it was tried already, or the host is unknown. */
export type HostOf = (delivery: Delivery) => string | undefined;

/**
 * The hosts of deliveries that wait for their first attempt. Behind a failing destination most deliveries were never
 * tried, and an operator needs to know whose server it is. Reads each application's setting once. Never rejects.
 */
export async function waitingHosts(
  destinations: Destinations,
  deliveries: readonly Delivery[],
): Promise<HostOf> {
  const lanes = new Map(
    deliveries.filter(isUntried).map((one) => [laneOf(one.applicationId, one.destination), one]),
  );
  const hosts = new Map<string, string>();
  await withDeadline(longestWaitMs, () =>
    Promise.all(
      [...lanes].map(async ([lane, { applicationId, destination }]) => {
        const to = await destinations.get(applicationId, destination).catch(() => undefined);
        if (to) hosts.set(lane, to.url.host);
      }),
    ),
  );
  return (one) => (isUntried(one) ? hosts.get(laneOf(one.applicationId, one.destination)) : undefined);
}

/** True without an attempt since the delivery was created or sent again; sending again uses the current URL. */
function isUntried({ status, attempts }: Delivery): boolean {
  return status === 'pending' && attempts === 0;
}
