/** Result for one page of an application's channels, followed by its recordings. */
export interface ApplicationPage {
  readonly channels: number;
  /** Number of emptied events. */
  readonly events: number;
  readonly recordings: number;
  /** Number of unprocessed events, or of recordings whose upload is running. */
  readonly held: number;
  /** Start of the next page; empty after the last page. */
  readonly next: string;
}

/** Removes data of an application that operators want forgotten (ADR 0047). */
export interface ApplicationForgetStore {
  /** Idempotent. */
  forget(applicationId: string, after: string, dryRun: boolean): Promise<ApplicationPage>;
}
