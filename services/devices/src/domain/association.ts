/** An ended activation: activation epochs from `sinceEpoch` up to, but not including, `untilEpoch`. */
export interface PastAssociation extends EpochSpan {
  readonly applicationId: string;
  /** Start of the activation; milliseconds since 1970. Absent if not known, because release 0.1.0 ended it. */
  readonly sinceMs?: number;
}

/** Activation epochs from `sinceEpoch` up to, but not including, `untilEpoch`. */
export interface EpochSpan {
  readonly sinceEpoch: number;
  readonly untilEpoch: number;
}

/** The current and earlier applications of a device, with their activation epochs. */
export interface Associations {
  /** The device's newest activation epoch. */
  readonly epoch: number;
  /** Absent if the device is not activated. */
  readonly current?: {
    readonly applicationId: string;
    readonly sinceEpoch: number;
    /** Start of the activation; milliseconds since 1970. Absent if not known. */
    readonly sinceMs?: number;
    /** Earlier epochs of this activation, before a restore of the database (ADR 0035). */
    readonly before?: readonly EpochSpan[];
  };
  /** The newest ended activations, oldest first. */
  readonly past: readonly PastAssociation[];
}

/** Maximum ended activations in a device's document. */
export const pastAssociations = 32;

/**
 * The application to be notified of a report of activation epoch `epoch`: the current application, if its activation
 * includes that epoch. An application never gets reports that belong to an activation by another application.
 */
export function notifiedApplication(
  associations: Associations | undefined,
  epoch: number,
): string | undefined {
  return currentAt(associations, epoch)?.applicationId;
}

function currentAt(associations: Associations | undefined, epoch: number): Associations['current'] {
  const current = associations?.current;
  if (!current) return undefined;
  const own = epoch >= current.sinceEpoch || current.before?.some((span) => isWithin(epoch, span));
  return own ? current : undefined;
}

/** The application that had the device activated at activation epoch `epoch`, now or before; for charges. */
export function applicationAt(associations: Associations | undefined, epoch: number): string | undefined {
  return associationAt(associations, epoch)?.applicationId;
}

/**
 * Start of the activation that has activation epoch `epoch`, now or before; milliseconds since 1970. Undefined if there
 * was none, or its start is not known.
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
