/** An ended activation: from `sinceEpoch` until before `untilEpoch`. */
export interface PastAssociation {
  readonly applicationId: string;
  readonly sinceEpoch: number;
  readonly untilEpoch: number;
}

/** Which application has a device activated, and which had; epochs say when. */
export interface Associations {
  /** The device's newest epoch. */
  readonly epoch: number;
  /** Absent: not activated. */
  readonly current?: { readonly applicationId: string; readonly sinceEpoch: number };
  /** The newest ended ones, oldest first. */
  readonly past: readonly PastAssociation[];
}

/** How many ended activations a device's document remembers. */
export const pastAssociations = 32;

/**
 * The application that may hear of what a headset said at `epoch`: the one that has it activated now,
 * unless it said so before that application had it. Nothing of an earlier application reaches a later
 * one, and nothing reaches an earlier one.
 */
export function hearer(associations: Associations | undefined, epoch: number): string | undefined {
  const current = associations?.current;
  return current && epoch >= current.sinceEpoch ? current.applicationId : undefined;
}

/** The application that had the device activated at `epoch`, now or before; for what is charged. */
export function applicationAt(associations: Associations | undefined, epoch: number): string | undefined {
  const past = associations?.past.find((one) => epoch >= one.sinceEpoch && epoch < one.untilEpoch);
  return past?.applicationId ?? hearer(associations, epoch);
}
