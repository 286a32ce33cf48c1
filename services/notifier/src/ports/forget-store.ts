/** Number of removed deliveries, and of deliveries that must not be removed now. */
export interface ForgottenDeliveries {
  readonly removed: number;
  /** Pending deliveries, or deliveries with a pending audit record. */
  readonly left: number;
}

/** Removes data that operators want forgotten (ADR 0047). Callback ids contain their cause (ADR 0006). */
export interface ForgetStore {
  /** All deliveries of one transaction. */
  ofTransaction(transactionId: number, dryRun: boolean): Promise<ForgottenDeliveries>;
  one(notificationId: string, dryRun: boolean): Promise<ForgottenDeliveries>;
  /** The next deliveries of reports of the device's headset; in a dry run all of them. */
  reported(deviceId: string, dryRun: boolean): Promise<ForgottenDeliveries & { readonly more: boolean }>;
  /**
   * The next deliveries of an application, pending or not, and probes of its servers. Deliveries with a pending audit
   * record stay.
   */
  ofApplication(
    applicationId: string,
  ): Promise<ForgottenDeliveries & { readonly probes: number; readonly more: boolean }>;
  countOfApplication(applicationId: string): Promise<ForgottenDeliveries & { readonly pending: number }>;
}
