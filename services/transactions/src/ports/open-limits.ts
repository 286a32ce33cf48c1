/**
 * Limit of the open transactions of a device or an application (ADR 0040). Each process may exceed the limit by a
 * tenth, because it does not count the creates of other processes at once.
 */
export interface OpenLimit {
  /** Admits a create; undefined: the limit `most` is reached. Call the returned function when the create has ended. */
  admit(key: string, most: number): Promise<((created: boolean) => void) | undefined>;
  isFull(key: string, most: number): Promise<boolean>;
}

export interface OpenLimits {
  readonly ofDevice: OpenLimit;
  readonly ofApplication: OpenLimit;
}
