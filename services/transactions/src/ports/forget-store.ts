/** One page of the transactions of a device (of all applications) or of an application. */
export interface ForgetPage {
  /** Ids of ended transactions whose callbacks are all in the log. */
  readonly settled: readonly number[];
  readonly open: readonly number[];
  /** Number of ended transactions with pending callbacks. */
  readonly pending: number;
  /** Start of the next page; empty: this page is the last. */
  readonly next: string;
}

/** Finds and deletes transactions when an operator forgets a device or an application (ADR 0047). */
export interface ForgetStore {
  page(deviceId: string, after: string): Promise<ForgetPage>;
  /**
   * Deletes those of `ids` that belong to the device, have ended and have no pending callback; returns their number.
   */
  remove(deviceId: string, ids: readonly number[]): Promise<number>;
  /** Returns the application's transactions after the id `after`, of all devices; `next` is 0 on the last page. */
  pageOfApplication(
    applicationId: string,
    after: number,
  ): Promise<Omit<ForgetPage, 'next'> & { readonly next: number }>;
  removeOfApplication(applicationId: string, ids: readonly number[]): Promise<number>;
}
