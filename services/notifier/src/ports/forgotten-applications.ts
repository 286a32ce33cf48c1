/** The applications that operators want forgotten. */
export interface ForgottenApplications {
  /** Their ids, some seconds old. Rejects while the database is unavailable. */
  read(): Promise<{ has(applicationId: string): boolean }>;
  /** True if every instance drops the application's notifications by now. */
  isKnownEverywhere(applicationId: string): Promise<boolean>;
}
