/**
 * Limit of the open transactions of a device or an application (ADR 0040). It holds for all processes together within a
 * tenth of the limit for each process.
 */
export interface OpenLimit {
  /** Admits one more. Undefined: there are `most`. Call the result when the create has ended. */
  admit(key: string, most: number): Promise<((created: boolean) => void) | undefined>;
  isFull(key: string, most: number): Promise<boolean>;
}

export interface OpenLimits {
  readonly ofDevice: OpenLimit;
  readonly ofApplication: OpenLimit;
}
