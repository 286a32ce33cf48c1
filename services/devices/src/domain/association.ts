/** An ended activation: from `sinceEpoch` until before `untilEpoch`. */
export interface PastAssociation {
  readonly applicationId: string;
  readonly sinceEpoch: number;
  readonly untilEpoch: number;
}

/** The applications that have and had a device activated, with their activation epochs. */
export interface Associations {
  /** The device's newest activation epoch. */
  readonly epoch: number;
  /** Absent: not activated. */
  readonly current?: { readonly applicationId: string; readonly sinceEpoch: number };
  /** The newest ended ones, oldest first. */
  readonly past: readonly PastAssociation[];
}

/** How many ended activations a device's document remembers. */
export const pastAssociations = 32;

/**
 * The application to be notified of a report of activation epoch `epoch`: the one that has the device
 * activated now, if it already had it at that epoch. An application is never notified of a report from
 * another one's time.
 */
export function hearer(associations: Associations | undefined, epoch: number): string | undefined {
  const current = associations?.current;
  return current && epoch >= current.sinceEpoch ? current.applicationId : undefined;
}

/**
 * The application that had the device activated at activation epoch `epoch`, now or before; for charges.
 */
export function applicationAt(associations: Associations | undefined, epoch: number): string | undefined {
  const past = associations?.past.find((one) => epoch >= one.sinceEpoch && epoch < one.untilEpoch);
  return past?.applicationId ?? hearer(associations, epoch);
}
