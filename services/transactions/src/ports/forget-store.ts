/** A device's transactions, a page at a time, whatever their application. */
export interface ForgetPage {
  /** Ended, and nothing is owed. */
  readonly settled: readonly number[];
  readonly open: readonly number[];
  /** Ended, with callbacks that are not known to be in the log. */
  readonly owing: number;
  /** Where the next page begins; empty: there is none. */
  readonly next: string;
}

/** What an operator has forgotten (ADR 0047). */
export interface ForgetStore {
  page(deviceId: string, after: string): Promise<ForgetPage>;
  /** Deletes those of them that are the device's, have ended and owe nothing; answers how many. */
  remove(deviceId: string, ids: readonly number[]): Promise<number>;
  /** An application's, of all its devices, behind the id `after`; `next` 0: there are no more. */
  pageOfApplication(
    applicationId: string,
    after: number,
  ): Promise<Omit<ForgetPage, 'next'> & { readonly next: number }>;
  removeOfApplication(applicationId: string, ids: readonly number[]): Promise<number>;
}
