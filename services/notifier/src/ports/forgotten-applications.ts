/** The applications that operators want forgotten. */
export interface ForgottenApplications {
  /** Returns their ids, as stored some seconds ago. Rejects while the database is unavailable. */
  read(): Promise<{ has(applicationId: string): boolean }>;
  /** True if every instance drops the application's new notifications. */
  isKnownEverywhere(applicationId: string): Promise<boolean>;
}
