/** An ended activation: from `sinceEpoch` until before `untilEpoch`. */
export interface PastAssociation extends EpochSpan {
  readonly applicationId: string;
  /** When the activation began; milliseconds since 1970. Absent: not known, release 0.1.0 ended it. */
  readonly sinceMs?: number;
}

/** Activation epochs: from `sinceEpoch` until before `untilEpoch`. */
export interface EpochSpan {
  readonly sinceEpoch: number;
  readonly untilEpoch: number;
}

/** The applications that have and had a device activated, with their activation epochs. */
export interface Associations {
  /** The device's newest activation epoch. */
  readonly epoch: number;
  /** Absent: not activated. */
  readonly current?: {
    readonly applicationId: string;
    readonly sinceEpoch: number;
    /** When it began; milliseconds since 1970. Absent: not known. */
    readonly sinceMs?: number;
    /** Earlier epochs of this activation, from before a restore of the database (ADR 0035). */
    readonly before?: readonly EpochSpan[];
  };
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
  return currentAt(associations, epoch)?.applicationId;
}

function currentAt(associations: Associations | undefined, epoch: number): Associations['current'] {
  const current = associations?.current;
  if (!current) return undefined;
  const own = epoch >= current.sinceEpoch || current.before?.some((span) => isWithin(epoch, span));
  return own ? current : undefined;
}

/**
 * The application that had the device activated at activation epoch `epoch`, now or before; for charges.
 */
export function applicationAt(associations: Associations | undefined, epoch: number): string | undefined {
  return associationAt(associations, epoch)?.applicationId;
}

/**
 * When the activation of activation epoch `epoch` began, now or before; milliseconds since 1970. Undefined: there
 * was none, or its begin is not known.
 */
export function activatedAtMs(associations: Associations | undefined, epoch: number): number | undefined {
  return associationAt(associations, epoch)?.sinceMs;
}

function associationAt(
  associations: Associations | undefined,
  epoch: number,
): PastAssociation | Associations['current'] {
  return associations?.past.find((one) => isWithin(epoch, one)) ?? currentAt(associations, epoch);
}

function isWithin(epoch: number, { sinceEpoch, untilEpoch }: EpochSpan): boolean {
  return epoch >= sinceEpoch && epoch < untilEpoch;
}
