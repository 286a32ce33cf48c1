import { withDeadline } from '@headset-cloud/kit/deadline.ts';
import { type Delivery, laneOf } from '../domain/delivery.ts';
import type { Destinations } from '../ports.ts';

/** So long an answer may wait for devices; without theirs it has no hosts. */
const patienceMs = 2000;

/** Tells of a delivery where it is to go; undefined: it was tried, or nobody knows. */
export type HostOf = (delivery: Delivery) => string | undefined;

/**
 * The hosts that deliveries wait to be sent to: behind a failing destination most were never tried, and an operator
 * looks for whose server it is. One question for each application's setting. Never rejects.
 */
export async function waitingHosts(
  destinations: Destinations,
  deliveries: readonly Delivery[],
): Promise<HostOf> {
  const lanes = new Map(
    deliveries.filter(isUntried).map((one) => [laneOf(one.applicationId, one.destination), one]),
  );
  const hosts = new Map<string, string>();
  await withDeadline(patienceMs, () =>
    Promise.all(
      [...lanes].map(async ([lane, { applicationId, destination }]) => {
        const to = await destinations.get(applicationId, destination).catch(() => undefined);
        if (to) hosts.set(lane, to.url.host);
      }),
    ),
  );
  return (one) => (isUntried(one) ? hosts.get(laneOf(one.applicationId, one.destination)) : undefined);
}

/** Of its present budget: an operator has one sent again to where the setting points now. */
function isUntried({ status, attempts }: Delivery): boolean {
  return status === 'pending' && attempts === 0;
}
